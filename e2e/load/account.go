// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"maps"
	"slices"
)

// Account settles what all clients sent against what all servers noted. Sent
// is OK + Lost + InFlight, to the request, and counts neither what is set apart
// in Unprotected nor what is in Naive.
type Account struct {
	Sent int `json:"sent"`
	OK   int `json:"ok"`
	Lost int `json:"lost"`
	// InFlight counts requests that failed and were in flight at a kill.
	InFlight int `json:"in_flight"`
	// Duplicated counts POSTs that were executed more than once, each once. A
	// POST that no client of these books sent counts here too.
	Duplicated  int   `json:"duplicated"`
	Unprotected Apart `json:"unprotected"`
	Naive       Apart `json:"naive"`
	// Failures lists the lost requests of the account, the earliest first.
	Failures []Failure `json:"failures,omitempty"`
	// Repeats lists the ids of POSTs executed more than once, in order.
	Repeats []string `json:"repeats,omitempty"`
	// Starved names the clients whose machine was too busy.
	Starved []string `json:"starved,omitempty"`
}

// Apart counts requests that the account does not answer for. What was in
// flight and failed counts as lost here.
type Apart struct {
	Sent       int `json:"sent"`
	Lost       int `json:"lost"`
	Duplicated int `json:"duplicated"`
}

// Failure is one lost request, with all that is known about it.
type Failure struct {
	Client string `json:"client"`
	Record
	// Upstream is the first that was seen with the request; empty if none was.
	Upstream string `json:"upstream,omitempty"`
}

// Run is all that one client sent, over all its lives.
type Run struct {
	Client string
	// Outside marks a client that enters through an ingress gateway.
	Outside bool
	Records []Record
}

// Span is a stretch of time. A request is in it if it was under way at any
// moment of it.
type Span struct{ From, To int64 }

func (s Span) holds(r Record) bool {
	return r.Sent <= s.To && (r.End == 0 || r.End >= s.From)
}

// Books is all the evidence of a run.
type Books struct {
	Runs    []Run
	Ledgers []Ledger
	// Seen is evidence besides the ledgers, from the access logs of proxies.
	Seen  []Sight
	Kills []Kill
	// Unprotected are the times in which no rule protects an outside client.
	Unprotected []Span
	// Naive are the times in which a cluster was taken away without weir.
	Naive []Span
}

// Settle makes the account. It depends on nothing but the books.
func Settle(b Books) Account {
	sights := slices.Clone(b.Seen)
	for _, l := range b.Ledgers {
		sights = append(sights, l.Sights()...)
	}
	first := firstUpstreams(sights)
	repeated := repeats(b.Ledgers)

	var a Account
	for _, run := range b.Runs {
		for _, r := range run.Records {
			if apart := a.apart(b, run, r); apart != nil {
				apart.add(r, repeated)
				continue
			}
			a.settle(b.Kills, run, r, first)
		}
		if LatenessOf(run.Records).Starved() {
			a.Starved = append(a.Starved, run.Client)
		}
	}
	slices.SortFunc(a.Failures, func(x, y Failure) int {
		return cmp.Or(cmp.Compare(x.Sent, y.Sent), cmp.Compare(x.ID, y.ID))
	})
	a.Repeats = slices.Sorted(maps.Keys(repeated))
	a.Duplicated = len(a.Repeats)
	return a
}

// apart gives the place of a request that the account does not answer for, or
// nil.
func (a *Account) apart(b Books, run Run, r Record) *Apart {
	switch {
	case within(b.Naive, r):
		return &a.Naive
	case run.Outside && within(b.Unprotected, r):
		return &a.Unprotected
	default:
		return nil
	}
}

// add counts one request, and takes it from repeated if it is there.
func (a *Apart) add(r Record, repeated map[string]int) {
	a.Sent++
	if !r.OK() {
		a.Lost++
	}
	if _, ok := repeated[r.ID]; ok {
		a.Duplicated++
		delete(repeated, r.ID)
	}
}

// settle puts one request into exactly one place of the account.
func (a *Account) settle(kills []Kill, run Run, r Record, first map[string]Sight) {
	a.Sent++
	switch {
	case r.OK():
		a.OK++
	case slices.ContainsFunc(kills, func(k Kill) bool { return k.inFlight(r, first) }):
		a.InFlight++
	default:
		a.Lost++
		r.Err = r.failure()
		a.Failures = append(a.Failures, Failure{Client: run.Client, Record: r, Upstream: first[r.ID].Upstream})
	}
}

func within(spans []Span, r Record) bool {
	return slices.ContainsFunc(spans, func(s Span) bool { return s.holds(r) })
}

// repeats gives the ids that were executed more than once, with their number.
func repeats(ledgers []Ledger) map[string]int {
	times := map[string]int{}
	for _, l := range ledgers {
		for _, e := range l.Entries {
			if e.Event == Executed && e.ID != "" {
				times[e.ID]++
			}
		}
	}
	maps.DeleteFunc(times, func(_ string, n int) bool { return n < 2 })
	return times
}
