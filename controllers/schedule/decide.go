// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/sched"
)

// rounds is how often a decision is made anew because views moved under it, before it waits for the next pass.
const rounds = 3

// answer is what a pass decided about one workload.
type answer struct {
	entry    *entry
	why      why
	decision sched.Decision
	// refresh names a cluster whose whole view is needed before anything is written; then nothing was decided.
	refresh string
}

// reserved is the room that decided replicas need which the views may not count yet: those that are not ready. Counted
// twice for a moment is better than given away twice.
func reserved(entries []*entry) []sched.Reservation {
	var out []sched.Reservation
	for _, e := range entries {
		for _, c := range e.binding.Spec.Clusters {
			missing := int64(c.Replicas - e.ready(c.Name))
			if missing <= 0 {
				continue
			}
			pod, special := e.request.Pods[c.Name]
			if !special {
				pod = e.request.Pod
			}
			out = append(out, sched.Reservation{Workload: e.request.Workload, Cluster: c.Name, Pod: pod, Replicas: missing})
		}
	}
	return out
}

func (e *entry) row(cluster string) *v1alpha1.MemberReplicas {
	for i := range e.binding.Status.Clusters {
		if row := &e.binding.Status.Clusters[i]; row.Name == cluster {
			return row
		}
	}
	return nil
}

// ready replicas in a member, as it was seen last.
func (e *entry) ready(cluster string) int32 {
	if row := e.row(cluster); row != nil {
		return row.Ready
	}
	return 0
}

// decide answers all that have a reason, in one batch. newest returns the views as they are by then; what was decided on
// older ones is held against them, and decided again where they object.
func decide(in *input, due []answer, newest func() ([]sched.ClusterView, error)) ([]answer, error) {
	fleet, err := sched.NewFleet(in.views)
	if err != nil {
		return nil, err
	}
	batch := sched.NewBatch(fleet, reserved(in.entries))
	for i := range due {
		a := &due[i]
		a.entry.request.Rebalance = a.why.rebalance
		a.decision = batch.Decide(&a.entry.request)
	}
	views := in.views
	for round := range rounds {
		now, err := newest()
		if err != nil {
			return nil, err
		}
		if versionsOf(now) == versionsOf(views) && changed(offers(views, in.kinds()), offers(now, in.kinds())) == nil {
			break
		}
		views = now
		if fleet, err = sched.NewFleet(views); err != nil {
			return nil, err
		}
		batch = sched.NewBatch(fleet, batch.Reservations())
		last := round == rounds-1
		for i := range due {
			check(&due[i], batch, last)
		}
	}
	in.views = views
	return due, nil
}

// check holds one decision against a batch on the newest views.
func check(a *answer, newest *sched.Batch, last bool) {
	objections := sched.Recheck(newest, &a.entry.request, &a.decision)
	if len(objections) == 0 {
		return
	}
	if last || objections[0].Remedy == sched.Refresh {
		newest.Release(a.entry.request.Workload)
		a.refresh = objections[0].Cluster
		return
	}
	if !isSplit(a.why.trigger) { // which is found again by its name, where it has to be redressed
		a.why.trigger = v1alpha1.TriggerPlacementFailed
	}
	a.decision = newest.Decide(&a.entry.request)
}
