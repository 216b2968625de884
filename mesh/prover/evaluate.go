// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weir-io/weir/mesh/prover/canary"
	"github.com/weir-io/weir/mesh/prover/concern"
	"github.com/weir-io/weir/mesh/prover/syncz"
)

// Evaluate judges one target. It is pure: it reads no clock and asks nobody.
func Evaluate(rules Rules, o Observation, m Memory) (Verdict, Memory) {
	v := Verdict{
		Target:          o.Target.Key(),
		Generation:      o.Target.Generation,
		FenceGeneration: o.Target.FenceGeneration,
	}
	for _, r := range o.Replicas {
		if r.Reading.Ended.After(v.At) {
			v.At = r.Reading.Ended
		}
	}
	var next Memory
	v.Rules, next.rules = judge(rules, o, rulesClaim(o.Target), o.Asked.Rules, m.rules)
	v.Weights, next.weights = judge(rules, o, weightsClaim(o.Target), o.Asked.Weights, m.weights)
	v.Fence, next.fence = judge(rules, o, fenceClaim(o.Target, o.Network), o.Asked.Fence, m.fence)
	v.Weights.Unweighted = unweighted(o, rules.MaxProxies)
	v.Connected = connected(o)
	return v, next
}

// connected counts the proxies that are on any replica.
func connected(o Observation) int {
	names := map[string]bool{}
	for _, r := range o.Replicas {
		for _, c := range r.Reading.Connections {
			if !canary.IsCanary(c.Proxy, o.Namespace) {
				names[c.Proxy] = true
			}
		}
	}
	return len(names)
}

// judge judges one claim: first the replicas with the proxies on them, then
// the proxies that are on none.
func judge(rules Rules, o Observation, c claim, asked time.Time, m claimMemory) (Proof, claimMemory) {
	if m.question != c.question {
		m = m.ask(c)
	}
	j := judgement{
		rules: rules, o: o, claim: c, before: m,
		after: claimMemory{
			question: c.question, generation: c.generation, content: c.content, agreed: map[string]time.Time{}, marks: map[string]mark{},
			unsent: map[string]unsent{}, vain: m.vain,
		},
	}
	p := Proof{Level: LevelNone, Fresh: j.fresh()}
	if c.empty != "" {
		p.Reasons = []Reason{{Code: c.empty}}
		return p, j.after
	}
	for _, r := range o.Replicas {
		p.Istiods = append(p.Istiods, j.replica(r))
	}
	slices.SortFunc(p.Istiods, func(a, b Istiod) int { return cmp.Compare(a.Name, b.Name) })
	p.Missing = j.missing()
	p.NeedsNewGeneration = j.noPush
	j.after.renew = m.renew || j.noPush
	p.Reasons = j.reasons(p)
	switch {
	case j.proven():
		p.Level = LevelProven
		if p.Since = m.since; p.Since.IsZero() {
			p.Since = o.Now
		}
		j.after.since = p.Since
		j.after.renew, j.after.vain = false, 0
	case j.timed(asked):
		p.Level = LevelTimed
	}
	return p, j.after
}

// judgement is one run of judge.
type judgement struct {
	rules  Rules
	o      Observation
	claim  claim
	before claimMemory
	after  claimMemory

	blocked int // what stands against the claim, the hold apart
	denied  int // those of blocked that are replicas without access
	holding bool
	noPush  bool
	list    []Reason
}

// fresh tells whether every replica's evidence is of its present process and
// within the lease.
func (j *judgement) fresh() bool {
	for _, r := range j.o.Replicas {
		if !bound(r) || j.o.Now.Sub(r.Reading.Ended) > j.rules.Lease {
			return false
		}
	}
	return len(j.o.Replicas) > 0
}

// bound tells whether a replica's reading is of the process that the canary's
// stream is of.
func bound(r Replica) bool { return r.Canary.Stream != 0 && r.Reading.Stream == r.Canary.Stream }

func (j *judgement) proven() bool {
	return j.blocked == 0 && !j.holding && len(j.o.Replicas) > 0 && j.fresh()
}

// timed tells whether nothing but missing access stands against the claim, and
// the stated time has passed.
func (j *judgement) timed(asked time.Time) bool {
	return j.denied > 0 && j.blocked == j.denied && !asked.IsZero() && j.o.Now.Sub(asked) >= j.rules.TimedAfter
}

func (j *judgement) block(code ReasonCode, subject, detail string) {
	j.blocked++
	j.list = append(j.list, Reason{Code: code, Subject: subject, Detail: detail})
}

// replica judges one replica and the proxies on it.
func (j *judgement) replica(r Replica) Istiod {
	out := Istiod{Name: r.Pod.Name, UID: r.Pod.UID}
	finding := j.claim.finding(r.Canary)
	out.Push = finding.Push.String()
	code, detail := j.replicaFault(r, finding)
	if code != "" {
		out.Reason = code
		j.block(code, r.Pod.Name, detail)
		if code == ReasonNoAccess {
			j.denied++
		}
		return out
	}
	key := fmt.Sprintf("%s/%d/", r.Pod.UID, r.Canary.Stream)
	held := j.agree(key, r.Reading)
	agrees := map[string]bool{}
	for _, c := range j.concerned(r) {
		ok, code := j.proxy(r, finding, c)
		// A proxy that is listed twice agrees when both of its rows do.
		if before, twice := agrees[c.Proxy]; twice && !before {
			ok = false
		}
		agrees[c.Proxy] = ok
		out.Concerned++
		if ok && !j.agree(key+c.Proxy, r.Reading) {
			held = false
		}
		if ok {
			out.Agreed++
		} else {
			delete(j.after.agreed, key+c.Proxy)
			j.block(code, c.Proxy, "on istiod "+r.Pod.Name)
		}
		if (!ok || j.o.Target.Active) && len(out.Proxies) < j.rules.MaxProxies {
			out.Proxies = append(out.Proxies, Proxy{Name: c.Proxy, Acked: j.claim.status(c).Acked.Version.String(), OK: ok, Reason: code})
		}
	}
	if !held {
		j.holding = true
	}
	out.OK = held && out.Agreed == out.Concerned
	return out
}

// replicaFault tells what is wrong with a replica itself.
func (j *judgement) replicaFault(r Replica, f canary.Finding) (ReasonCode, string) {
	old := r.Reading.Ended.IsZero() || j.o.Now.Sub(r.Reading.Ended) > j.rules.Lease
	switch {
	case r.Canary.Stream != 0 && f.Sight == canary.SightOld:
		// First, since a replica that serves what is old must not be taken
		// for one that can not be asked.
		return j.claim.old, f.Subject
	case r.Fault == ReasonNoAccess:
		return ReasonNoAccess, ""
	case r.Canary.Stream == 0 && r.CanaryRefused:
		return ReasonNoAccess, "its secure port refuses the canary"
	case r.Fault != "" && r.Fault != ReasonUnbound && old:
		return r.Fault, ""
	case r.Canary.Stream == 0:
		return ReasonNoCanary, ""
	case r.Fault != "" && old:
		return r.Fault, ""
	case old:
		return ReasonUnreachable, "no reading within the lease"
	case !bound(r):
		return ReasonUnbound, ""
	}
	return sightFault(f)
}

// sightFault tells why a canary that is connected sees too little.
func sightFault(f canary.Finding) (ReasonCode, string) {
	switch f.Sight {
	case canary.SightNone:
		return ReasonNoCanary, "no answer yet for " + f.Subject
	case canary.SightBlind:
		return ReasonBlind, f.Subject
	case canary.SightOld, canary.SightNew:
	}
	return "", ""
}

// concerned returns the connections on a replica that the claim binds, sorted
// by name. One whose reach is not known is bound until it is.
func (j *judgement) concerned(r Replica) []syncz.Connection {
	var out []syncz.Connection
	for _, c := range r.Reading.Connections {
		if ignored(c, j.o.Namespace) {
			continue
		}
		if reach, known := j.o.Reach[c.Proxy]; !known || j.claim.binds(reach) || j.claim.weighs && j.o.Young[c.Proxy] {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b syncz.Connection) int { return cmp.Compare(a.Proxy, b.Proxy) })
	return out
}

// ignored tells whether a connection is no proxy with Envoy's configuration.
func ignored(c syncz.Connection, namespace string) bool {
	return canary.IsCanary(c.Proxy, namespace) || c.Type == typeZtunnel
}

const typeZtunnel = "ztunnel"

// proxy judges one connection.
func (j *judgement) proxy(r Replica, f canary.Finding, c syncz.Connection) (bool, ReasonCode) {
	reach, known := j.o.Reach[c.Proxy]
	if !known {
		return false, ReasonUnknownScope
	}
	for _, s := range j.claim.statuses(c) {
		switch {
		case s.Unreadable:
			return false, ReasonUnreadable
		case s.LastError != "":
			return false, ReasonRefused
		}
	}
	ok, code := j.claim.agrees(j, r, f, c, reach)
	if code == ReasonNoPush {
		j.noPush = true
	}
	return ok, code
}

// agree notes that key agrees in this reading, and tells whether it did so in
// one that ended a hold before this one began.
func (j *judgement) agree(key string, r Reading) bool {
	first, known := j.before.agreed[key]
	if !known {
		first = r.Ended
	}
	j.after.agreed[key] = first
	return known && r.Began.Sub(first) >= j.rules.Hold
}

// unweighted lists the connected proxies that reach the target by ways that
// are not ours, sorted and without repeats.
func unweighted(o Observation, most int) []Unweighted {
	var out []Unweighted
	for _, r := range o.Replicas {
		for _, c := range r.Reading.Connections {
			if canary.IsCanary(c.Proxy, o.Namespace) {
				continue
			}
			if via := wayOf(c, o.Reach[c.Proxy]); via != "" {
				out = append(out, Unweighted{Proxy: c.Proxy, Via: via})
			}
		}
	}
	slices.SortFunc(out, func(a, b Unweighted) int {
		return cmp.Or(cmp.Compare(a.Proxy, b.Proxy), cmp.Compare(a.Via, b.Via))
	})
	out = slices.Compact(out)
	return out[:min(len(out), most)]
}

func wayOf(c syncz.Connection, reach concern.Reach) string {
	if c.Type == typeZtunnel {
		return "ambient: ztunnel takes no routes"
	}
	return reach.Unweighted()
}
