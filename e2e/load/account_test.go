// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/weir-io/weir/e2e/load"
)

// ledger is that of a pod of c2 with the ids that arrived, a second apart.
func ledger(pod string, event load.Event, ids ...string) load.Ledger {
	l := load.Ledger{Pod: pod, Cluster: "c2"}
	for i, id := range ids {
		l.Entries = append(l.Entries, load.Entry{Time: int64(i+1) * s, Event: event, ID: id})
	}
	return l
}

// kill takes pod k between 10 s and 11 s.
var kill = load.Kill{Name: "pods of c2", From: 10 * s, Gone: 11 * s, Upstreams: map[string]bool{"k": true, "10.2.0.7": true}}

func TestSettlePutsEachRequestWhereItBelongs(t *testing.T) {
	mesh := func(records ...load.Record) []load.Run { return []load.Run{{Client: "m", Records: records}} }
	outside := func(records ...load.Record) []load.Run {
		return []load.Run{{Client: "o", Outside: true, Records: records}}
	}
	arrivedAtK := []load.Ledger{ledger("k", load.Arrived, "x")}
	unprotected := []load.Span{{From: 10 * s, To: 20 * s}}
	for name, c := range map[string]struct {
		books load.Books
		want  load.Account
	}{
		"answered": {
			load.Books{Runs: mesh(answered("x", 1*s, 5))},
			load.Account{Sent: 1, OK: 1},
		},
		"failed without a kill": {
			load.Books{Runs: mesh(failed("x", 1*s, 5)), Ledgers: arrivedAtK},
			load.Account{Sent: 1, Lost: 1},
		},
		"no end on record": {
			load.Books{Runs: mesh(load.Record{ID: "x", Class: "h1/once", Due: s, Sent: s})},
			load.Account{Sent: 1, Lost: 1},
		},
		"in flight at the killed pod by its ledger": {
			load.Books{Runs: mesh(failed("x", 9*s, 1500)), Ledgers: arrivedAtK, Kills: []load.Kill{kill}},
			load.Account{Sent: 1, InFlight: 1},
		},
		"in flight at the killed sidecar by the access log": {
			load.Books{Runs: mesh(failed("x", 9*s, 1500)), Seen: []load.Sight{{ID: "x", Upstream: "10.2.0.7", Time: 9 * s}}, Kills: []load.Kill{kill}},
			load.Account{Sent: 1, InFlight: 1},
		},
		"sent while the last process was dying": {
			load.Books{Runs: mesh(failed("x", 11*s, 1)), Ledgers: arrivedAtK, Kills: []load.Kill{kill}},
			load.Account{Sent: 1, InFlight: 1},
		},
		"sent to the killed pod after it was gone": {
			load.Books{Runs: mesh(failed("x", 11*s+1, 1)), Ledgers: arrivedAtK, Kills: []load.Kill{kill}},
			load.Account{Sent: 1, Lost: 1},
		},
		"failed before the kill began": {
			load.Books{Runs: mesh(failed("x", 8*s, 100)), Ledgers: arrivedAtK, Kills: []load.Kill{kill}},
			load.Account{Sent: 1, Lost: 1},
		},
		"failed with no upstream seen": {
			load.Books{Runs: mesh(failed("x", 10*s, 100)), Kills: []load.Kill{kill}},
			load.Account{Sent: 1, Lost: 1},
		},
		"first upstream alive, second killed": {
			load.Books{
				Runs: mesh(failed("x", 10*s, 900)), Kills: []load.Kill{kill},
				Seen: []load.Sight{{ID: "x", Upstream: "k", Time: 10*s + 2}, {ID: "x", Upstream: "alive", Time: 10*s + 1}},
			},
			load.Account{Sent: 1, Lost: 1},
		},
		"answered in spite of the kill": {
			load.Books{Runs: mesh(answered("x", 9*s, 1500)), Ledgers: arrivedAtK, Kills: []load.Kill{kill}},
			load.Account{Sent: 1, OK: 1},
		},
		"outside client during the kill": {
			load.Books{Runs: outside(failed("x", 9*s, 1500), answered("y", 15*s, 1), answered("z", 21*s, 1)), Unprotected: unprotected},
			load.Account{Sent: 1, OK: 1, Unprotected: load.Apart{Sent: 2, Lost: 1}},
		},
		"mesh client during the kill is not excused": {
			load.Books{Runs: mesh(failed("x", 15*s, 1)), Unprotected: unprotected},
			load.Account{Sent: 1, Lost: 1},
		},
		"naive act, in flight and all": {
			load.Books{Runs: mesh(failed("x", 9*s, 1500), answered("y", 1*s, 1)), Naive: unprotected, Kills: []load.Kill{kill}, Ledgers: arrivedAtK},
			load.Account{Sent: 1, OK: 1, Naive: load.Apart{Sent: 1, Lost: 1}},
		},
		"executed at two pods": {
			load.Books{
				Runs:    mesh(answered("x", 1*s, 5), answered("y", 1*s, 5)),
				Ledgers: []load.Ledger{ledger("k", load.Executed, "x", "y"), ledger("l", load.Executed, "x")},
			},
			load.Account{Sent: 2, OK: 2, Duplicated: 1, Repeats: []string{"x"}},
		},
		"executed twice at one pod": {
			load.Books{Runs: mesh(answered("x", 1*s, 5)), Ledgers: []load.Ledger{ledger("k", load.Executed, "x", "x")}},
			load.Account{Sent: 1, OK: 1, Duplicated: 1, Repeats: []string{"x"}},
		},
		"executed twice in the naive act": {
			load.Books{Runs: mesh(answered("x", 11*s, 5)), Naive: unprotected, Ledgers: []load.Ledger{ledger("k", load.Executed, "x", "x")}},
			load.Account{Naive: load.Apart{Sent: 1, Duplicated: 1}},
		},
		"a GET that arrived twice is no duplicate": {
			load.Books{Runs: mesh(answered("x", 1*s, 5)), Ledgers: []load.Ledger{ledger("k", load.Arrived, "x", "x")}},
			load.Account{Sent: 1, OK: 1},
		},
		"starved client": {
			load.Books{Runs: mesh(load.Record{ID: "x", Due: 1, Sent: 2 * s, End: 3 * s})},
			load.Account{Sent: 1, OK: 1, Starved: []string{"m"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := load.Settle(c.books)
			if len(got.Failures) != got.Lost {
				t.Errorf("%d lost, but %d told of", got.Lost, len(got.Failures))
			}
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(load.Account{}, "Failures"), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFailuresTellWhatIsKnownEarliestFirst(t *testing.T) {
	open := load.Record{ID: "open", Class: "h2/slow", Due: s, Sent: s}
	got := load.Settle(load.Books{
		Runs:    []load.Run{{Client: "m", Records: []load.Record{failed("x", 2*s, 5), open}}},
		Ledgers: []load.Ledger{ledger("k", load.Arrived, "x")},
	}).Failures
	open.Err = "the client ended before the request did"
	want := []load.Failure{
		{Client: "m", Record: open},
		{Client: "m", Record: failed("x", 2*s, 5), Upstream: "k"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestAccountAlwaysAddsUpToTheRequest(t *testing.T) {
	at := rapid.Int64Range(1, 40)
	span := rapid.Custom(func(t *rapid.T) load.Span {
		from := at.Draw(t, "from")
		return load.Span{From: from, To: from + at.Draw(t, "length")}
	})
	rapid.Check(t, func(t *rapid.T) {
		b := load.Books{
			Unprotected: rapid.SliceOfN(span, 0, 2).Draw(t, "unprotected"),
			Naive:       rapid.SliceOfN(span, 0, 1).Draw(t, "naive"),
		}
		for _, k := range rapid.SliceOfN(span, 0, 2).Draw(t, "kills") {
			b.Kills = append(b.Kills, load.Kill{From: k.From, Gone: k.To, Upstreams: map[string]bool{"k": true}})
		}
		sent, failures := 0, 0
		for c := range rapid.IntRange(1, 3).Draw(t, "clients") {
			run := load.Run{Client: strconv.Itoa(c), Outside: c == 0}
			for n := range rapid.IntRange(0, 20).Draw(t, "requests") {
				r := load.Record{ID: run.Client + "-" + strconv.Itoa(n), Sent: at.Draw(t, "sent")}
				r.End = rapid.SampledFrom([]int64{0, r.Sent + at.Draw(t, "took")}).Draw(t, "end")
				r.Err = rapid.SampledFrom([]string{"", "reset"}).Draw(t, "err")
				run.Records = append(run.Records, r)
				sent++
				if !r.OK() {
					failures++
				}
				if rapid.Bool().Draw(t, "seen") {
					b.Seen = append(b.Seen, load.Sight{ID: r.ID, Time: r.Sent, Upstream: rapid.SampledFrom([]string{"k", "l"}).Draw(t, "upstream")})
				}
			}
			b.Runs = append(b.Runs, run)
		}
		a := load.Settle(b)
		if a.Sent != a.OK+a.Lost+a.InFlight {
			t.Fatalf("%d sent, but %d + %d + %d", a.Sent, a.OK, a.Lost, a.InFlight)
		}
		if all := a.Sent + a.Unprotected.Sent + a.Naive.Sent; all != sent {
			t.Fatalf("%d requests accounted for, %d sent", all, sent)
		}
		if all := a.Lost + a.InFlight + a.Unprotected.Lost + a.Naive.Lost; all != failures {
			t.Fatalf("%d failures accounted for, %d happened", all, failures)
		}
	})
}

func TestArrivalsCountPerClusterAndStep(t *testing.T) {
	other := ledger("o", load.Executed, "x", "y")
	other.Cluster = "c1"
	answers := ledger("a", load.Answered, "x", "y", "z")
	got := load.Arrivals([]load.Ledger{ledger("k", load.Arrived, "a", "b", "c", "d"), ledger("l", load.Arrived, "a"), other, answers}, 1*s, 2*time.Second)
	want := map[string][]int{"c2": {3, 2}, "c1": {2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if late := load.Arrivals([]load.Ledger{other}, 2*s, time.Second); !cmp.Equal(late, map[string][]int{"c1": {1}}) {
		t.Fatalf("arrivals before the start were counted: %v", late)
	}
}
