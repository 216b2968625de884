// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sched

import (
	"fmt"
	"slices"

	"github.com/weir-io/weir/sched/filter"
	"github.com/weir-io/weir/sched/fit"
)

// MaxLag is how many versions a view may be behind what its member has spoken of before nothing is written by it.
const MaxLag = 10

// A Remedy is what to do about an Objection.
type Remedy uint8

// The remedies.
const (
	PlanAgain Remedy = iota // decide again, on the newest views
	Refresh                 // ask the member for its whole view first, then decide again
)

// An Objection is why a decision may not be written as it is.
type Objection struct {
	Cluster string
	Remedy  Remedy
	Message string
}

// Recheck compares a decision with the newest views at the time of commit; newest is a batch on those. What the decision
// adds to a cluster must still be welcome and fit there, beside what is reserved for others. A pod that needs exact
// resources stands only on a view in which those have not changed. No objection: the decision may be written.
func Recheck(newest *Batch, r *Request, d *Decision) []Objection {
	var objections []Objection
	for i := range d.Targets {
		if t := &d.Targets[i]; t.New > 0 {
			if remedy, message := newest.object(r, t); message != "" {
				objections = append(objections, Objection{t.Cluster, remedy, message})
			}
		}
	}
	return objections
}

func (b *Batch) object(r *Request, t *Target) (remedy Remedy, message string) {
	i, ok := b.fleet.index[t.Cluster]
	if !ok {
		return PlanAgain, "the cluster is no longer registered"
	}
	m := &b.fleet.members[i]
	outcome, _, why := filter.Judge(&r.Where, &m.filter, b.serves(r.Where.Kind)[i])
	pod, special := r.Pods[t.Cluster]
	if !special {
		pod = r.Pod
	}
	switch lag := m.view.Announced - m.view.Version; {
	case outcome != filter.Open:
		return PlanAgain, why
	case lag > MaxLag:
		return Refresh, fmt.Sprintf("the view is %d versions behind its member", lag)
	case pod.Exact() && m.view.exactVersion() != t.ExactVersion:
		return PlanAgain, "accelerators, ports or nodes have changed since the decision"
	}
	places := t.New + t.Waiting
	if pod.Apart {
		places = t.Replicas // each on a node of its own, those that run among them
	}
	if b.fleet.catalogue.Seeker(&pod).Count(b.roomWithout(i, r.Workload), places) < places {
		return PlanAgain, fmt.Sprintf("there is no longer room for %d more", t.New)
	}
	return PlanAgain, ""
}

// roomWithout is the room of a member less what is held in it for others than the workload.
func (b *Batch) roomWithout(member int, workload string) fit.Room {
	others := func(h hold) bool { return h.workload != workload }
	if !slices.ContainsFunc(b.holds[member], func(h hold) bool { return !others(h) }) {
		return b.room(member)
	}
	return b.roomFor(member, others)
}
