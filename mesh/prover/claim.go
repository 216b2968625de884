// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-io/weir/mesh/prover/canary"
	"github.com/weir-io/weir/mesh/prover/concern"
	"github.com/weir-io/weir/mesh/prover/push"
	"github.com/weir-io/weir/mesh/prover/syncz"
)

// claim is one of the things that are proven, as the differences to the others.
type claim struct {
	// question changes whenever what is asked does; what was seen to agree
	// with another question counts for nothing.
	question string
	// generation is that of question, and content the rest of it where it is
	// about endpoints.
	generation int64
	content    string
	// empty is set when there is nothing to prove.
	empty ReasonCode
	// finding picks the canary's answer, and old names a replica that serves
	// something older.
	finding func(canary.Answer) canary.Finding
	old     ReasonCode
	// weighs is set for the claim about routes.
	weighs bool
	// binds tells whether a proxy of that reach has to agree.
	binds func(concern.Reach) bool
	// status is the type of resource that has to be acknowledged, statuses
	// are those in which a refusal counts.
	status   func(syncz.Connection) syncz.Status
	statuses func(syncz.Connection) []syncz.Status
	// agrees judges one proxy that refused nothing.
	agrees func(*judgement, Replica, canary.Finding, syncz.Connection, concern.Reach) (bool, ReasonCode)
}

func routesOf(c syncz.Connection) syncz.Status    { return c.Routes }
func endpointsOf(c syncz.Connection) syncz.Status { return c.Endpoints }
func clustersOf(c syncz.Connection) syncz.Status  { return c.Clusters }

// weightsClaim is that every proxy with routes of ours has those of the
// wanted generation.
func weightsClaim(t Target) claim {
	c := claim{
		question:   fmt.Sprintf("weights %d %v %v", t.Generation, t.Hosts, t.Ports),
		generation: t.Generation,
		finding:    func(a canary.Answer) canary.Finding { return a.Routes },
		old:        ReasonStaleReplica,
		weighs:     true,
		binds:      concern.Reach.Weighted,
		status:     routesOf,
		// A refused cluster leaves a route without its destination.
		statuses: func(c syncz.Connection) []syncz.Status { return []syncz.Status{c.Routes, c.Clusters} },
		agrees: func(j *judgement, r Replica, f canary.Finding, c syncz.Connection, _ concern.Reach) (bool, ReasonCode) {
			if j.o.Young[c.Proxy] {
				return false, ReasonUnknownScope
			}
			return j.reached(r, c.Proxy, c.Routes, f)
		},
	}
	if !t.hasRoutes() {
		c.empty = ReasonNoRoutes
	}
	return c
}

// fenceClaim is that every proxy that holds endpoints of the service holds no
// fenced address, and each that was unfenced. Where none of these addresses is
// of the proxies' network, all proxies agree.
func fenceClaim(t Target, network string) claim {
	absent, present := t.absent(network), t.present(network)
	nothing := len(absent) == 0 && len(present) == 0
	content := fmt.Sprintf("%v %v %v %v %v", absent, present, t.Hosts, t.Ports, t.Subsets)
	return claim{
		question:   fmt.Sprintf("fence %d %s", t.FenceGeneration, content),
		generation: t.FenceGeneration,
		content:    content,
		finding:    func(a canary.Answer) canary.Finding { return a.Fence },
		old:        ReasonStillServed,
		binds:      concern.Reach.Holds,
		status:     endpointsOf,
		statuses:   func(c syncz.Connection) []syncz.Status { return []syncz.Status{c.Endpoints} },
		agrees: func(j *judgement, r Replica, f canary.Finding, c syncz.Connection, _ concern.Reach) (bool, ReasonCode) {
			if nothing {
				return true, ""
			}
			if r.Keeps {
				return j.byContent(r, c)
			}
			return j.reached(r, c.Proxy, c.Endpoints, f)
		},
	}
}

// rulesClaim is that every proxy that can reach the service holds the clusters
// of our subsets.
//
// No push tells when they were sent: rules are often older than the canary, and
// endpoints do not show them. So a proxy agrees when the configuration that its
// replica makes for it has them and nothing is in flight to it, on both looks.
// That is enough for what follows: on one stream clusters are sent before the
// routes that name them, so once the replica has the rules, routes written
// later can not overtake them.
func rulesClaim(t Target) claim {
	c := claim{
		question: fmt.Sprintf("rules %v %v %v", t.Hosts, t.Ports, t.Subsets),
		finding: func(canary.Answer) canary.Finding {
			return canary.Finding{Sight: canary.SightNew}
		},
		old:      ReasonStaleReplica,
		binds:    concern.Reach.Holds,
		status:   clustersOf,
		statuses: func(c syncz.Connection) []syncz.Status { return []syncz.Status{c.Clusters, c.Endpoints} },
		agrees: func(_ *judgement, _ Replica, _ canary.Finding, c syncz.Connection, reach concern.Reach) (bool, ReasonCode) {
			for _, s := range t.Subsets {
				if !slices.Contains(reach.Subsets, s) {
					return false, ReasonBehind
				}
			}
			if c.Clusters.Acked.IsZero() || c.Clusters.Acked != c.Clusters.Sent {
				return false, ReasonBehind
			}
			return true, ""
		},
	}
	if len(t.Subsets) == 0 {
		c.empty = ReasonNoRules
	}
	return c
}

// reached tells whether a proxy acknowledged the push that the canary found, or
// a later one.
func (j *judgement) reached(r Replica, proxy string, s syncz.Status, f canary.Finding) (bool, ReasonCode) {
	switch {
	case f.Push.IsZero():
		return false, ReasonBehind
	case f.Beyond:
		// Whatever it was sent meanwhile, it was not by that push.
		return false, j.unsentFor(r, proxy, push.Nonce{}, true)
	case s.Acked.Version.Reaches(f.Push):
		return true, ""
	case s.Sent.Version.Reaches(f.Push):
		return false, ReasonBehind
	}
	return false, j.unsentFor(r, proxy, s.Sent, f.Initial)
}

// unsent is what is remembered of a proxy that its istiod has not sent the push
// to reach.
type unsent struct {
	// sent is what it was sent last, and since is the first look that showed it.
	sent  push.Nonce
	since time.Time
}

// unsentFor tells whether a proxy that has not been sent the push to reach is
// still to get it, or never will.
//
// An istiod sends a push to one connection after another, so for a moment the
// canary has what others have not been sent. That must not pass for a push that
// came to the canary alone: what is written anew on such word is pushed again,
// and shows the same for a moment. A canary alone is sent the first answer of a
// stream, what it asks for itself, and two pushes as one where it was slow.
func (j *judgement) unsentFor(r Replica, proxy string, sent push.Nonce, initial bool) ReasonCode {
	key := fmt.Sprintf("%s/%d/%s", r.Pod.UID, r.Canary.Stream, proxy)
	u, known := j.before.unsent[key]
	if !known || u.sent != sent {
		u = unsent{sent: sent, since: r.Reading.Ended}
	}
	j.after.unsent[key] = u
	if r.Reading.Began.Sub(u.since) >= j.patience(initial) {
		return ReasonNoPush
	}
	return ReasonBehind
}

// patience is for how long istiod may send a proxy nothing that it is to be
// sent. A push that may have come to the canary alone is waited for less than
// one that was made while it watched. Each time that a new generation was asked
// for in vain it is twice as long, so that an istiod is found that needs longer
// for its pushes than others.
func (j *judgement) patience(initial bool) time.Duration {
	most := j.rules.Lease
	if initial {
		most = j.rules.Hold
	}
	for range j.before.vain {
		most = min(2*most, j.rules.TimedAfter)
	}
	return most
}

// mark is what is remembered of one connection to an istiod that pushes
// endpoints under the version of the push before.
type mark struct {
	// clean is when the canary's own answer without the fenced addresses had
	// been sent, by istiod's clock; kept under the replica's key.
	clean time.Time
	// nonce is the first answer to the proxy that ended after clean.
	nonce push.Nonce
	// done means that a second one followed, made wholly after clean.
	done push.Nonce
}

// byContent proves endpoints without versions. An answer that was sent after
// the canary's may still have been made before it. The one after that on the
// same stream was not: answers on a stream are made one after the other.
func (j *judgement) byContent(r Replica, c syncz.Connection) (bool, ReasonCode) {
	replica := fmt.Sprintf("%s/%d", r.Pod.UID, r.Canary.Stream)
	clean := j.before.marks[replica].clean
	if clean.IsZero() && r.Canary.Endpoints == r.Reading.Canary.Sent.ID {
		// The row is of the very answer that the canary knows to be clean.
		clean = r.Reading.Canary.SentAt
	}
	if clean.IsZero() {
		return false, ReasonBehind
	}
	j.after.marks[replica] = mark{clean: clean}
	key := replica + "/" + c.Proxy
	m := j.before.marks[key]
	s := c.Endpoints
	switch {
	case s.SentAt.Before(clean):
		return false, j.unsentFor(r, c.Proxy, s.Sent, true)
	case m.nonce.IsZero():
		m.nonce = s.Sent
	case m.done.IsZero() && s.Sent != m.nonce:
		m.done = s.Sent
	}
	j.after.marks[key] = m
	switch {
	case m.done.IsZero():
		return false, ReasonNoPush
	case s.Acked == s.Sent || s.Acked == m.done:
		return true, ""
	}
	return false, ReasonBehind
}

// reasons puts together what stands against a proof, most general first.
func (j *judgement) reasons(p Proof) []Reason {
	out := slices.Clone(j.list)
	if len(j.o.Replicas) == 0 {
		out = append([]Reason{{Code: ReasonNoIstiod}}, out...)
	}
	if j.holding && j.blocked == 0 {
		out = append(out, Reason{Code: ReasonHold, Detail: fmt.Sprintf("all agree; a second look follows after %s", j.rules.Hold)})
	}
	if p.NeedsNewGeneration {
		out = append(out, Reason{Code: ReasonNoPush, Detail: "what is served was pushed before it could be watched; " +
			strings.Fields(j.claim.question)[0] + " need a new generation to compare with"})
	}
	if most := j.rules.MaxReasons; most > 0 && len(out) > most {
		left := len(out) - most + 1
		out = append(out[:most-1:most-1], Reason{Code: ReasonTooMany, Detail: fmt.Sprintf("and %d more", left)})
	}
	return out
}
