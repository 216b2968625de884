// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sched

import (
	"github.com/weir-io/weir/sched/divide"
	"github.com/weir-io/weir/sched/filter"
	"github.com/weir-io/weir/sched/fit"
	"github.com/weir-io/weir/sched/reason"
	"github.com/weir-io/weir/sched/score"
)

// A candidate is what one decision knows of one cluster.
type candidate struct {
	outcome filter.Outcome
	code    reason.Code // for anything but open
	message string

	bounds        Bounds
	present       int64 // replicas that stand
	running       int64 // those of them that the view counts
	seeker        *fit.Seeker
	fits          int64 // how many more the nodes could take, as far as anybody asked
	room          int64 // how many it can hold in all
	weight, fresh int64
	soft          bool
	full          bool // whatever the view shows
	given         int64
}

// Decide answers one request, and holds room for what is new in the answer in place of what was held for the workload
// before.
func (b *Batch) Decide(r *Request) Decision {
	wanted := min(max(r.Replicas, 0), divide.MaxTotal)
	b.Release(r.Workload)
	all := b.all
	b.gather(r, all)
	// 1. filter
	served := b.serves(r.Where.Kind)
	for i := range all {
		c := &all[i]
		c.outcome, c.code, c.message = filter.Judge(&r.Where, &b.fleet.members[i].filter, served[i])
	}
	// 2. fit, 3. score
	for i := range all {
		if c := &all[i]; c.outcome == filter.Open {
			b.measure(r, c, i, wanted)
		}
	}
	// 4. divide
	unplaced := b.divide(r, all, wanted)
	// 5. explain
	d := Decision{Workload: r.Workload, Wanted: wanted, Unplaced: unplaced}
	b.report(&d, all)
	b.explain(&d, r, all)
	// 6. reserve
	for i := range all {
		if c := &all[i]; c.given > c.running && c.seeker != nil {
			b.hold(i, hold{r.Workload, c.seeker, c.given - c.running})
		}
	}
	return d
}

// gather notes what the request says of each cluster.
func (b *Batch) gather(r *Request, all []candidate) {
	usual := b.fleet.catalogue.Seeker(&r.Pod)
	for i := range all {
		all[i] = candidate{bounds: r.Default, seeker: usual}
	}
	for name, bounds := range r.Bounds {
		if i, ok := b.fleet.index[name]; ok {
			all[i].bounds = bounds
		}
	}
	for name, pod := range r.Pods {
		if i, ok := b.fleet.index[name]; ok {
			all[i].seeker = b.fleet.catalogue.Seeker(&pod)
		}
	}
	for name, full := range r.Full {
		if i, ok := b.fleet.index[name]; ok {
			all[i].full = full
		}
	}
	for name, current := range r.Current {
		if i, ok := b.fleet.index[name]; ok {
			all[i].present = min(max(current.Replicas, 0), divide.MaxTotal)
			all[i].running = all[i].present - min(max(current.Waiting, 0), all[i].present)
		}
	}
}

// measure counts the room of an open cluster, as far as the request could use it, and weighs the cluster.
func (b *Batch) measure(r *Request, c *candidate, i int, wanted int64) {
	m := &b.fleet.members[i]
	c.soft = m.softTaint(r.Where.Tolerations)
	c.weight, c.fresh = score.Weights(c.bounds.Weight, m.filter.Health == filter.Suspect, c.soft)
	more := min(wanted, c.bounds.Max) - c.running
	if more <= 0 || c.full {
		c.room = c.running
		return
	}
	enough := score.ToBelieve(more, m.confidence)
	if c.seeker.Pod().Apart {
		// A node that runs one has no place for another. Which nodes do is not known, only how many.
		c.fits = max(0, c.seeker.Count(b.room(i), enough+c.running)-c.running)
	} else {
		c.fits = c.seeker.Count(b.room(i), enough)
	}
	// What stands and waits for a node is no news: an old view does not drive it away.
	waiting := min(c.present-c.running, c.fits)
	c.room = c.running + max(waiting, score.Believed(c.fits, m.confidence))
}

// divide gives every cluster its replicas and returns how many are left.
func (b *Batch) divide(r *Request, all []candidate, wanted int64) (unplaced int64) {
	b.index, b.parts = b.index[:0], b.parts[:0]
	workload := hash(r.Workload)
	for i := range all {
		c, m := &all[i], &b.fleet.members[i]
		if c.outcome == filter.Out || c.outcome == filter.Closed && c.present == 0 {
			continue
		}
		part := divide.Cluster{
			Weight: c.weight, NewWeight: c.fresh, Min: c.bounds.Min, First: c.bounds.First, Max: c.bounds.Max, Room: c.room, Present: c.present,
			Frozen: m.filter.Health == filter.Suspect || m.filter.Health == filter.Partitioned,
			Tie:    mixed(workload, m.hash),
		}
		if c.outcome == filter.Closed {
			part.Weight, _ = score.Weights(c.bounds.Weight, false, false)
			part.Room = c.present
		}
		b.index, b.parts = append(b.index, i), append(b.parts, part)
	}
	division := b.split.Divide(wanted, b.parts, r.Rebalance)
	for k, i := range b.index {
		all[i].given = division.Replicas[k]
	}
	return division.Unplaced
}

// report writes the targets and the views that were counted on.
func (b *Batch) report(d *Decision, all []candidate) {
	d.Targets = make([]Target, 0, min(int64(len(b.index)), d.Wanted))
	d.Views = make([]ViewVersion, 0, len(b.index))
	for _, i := range b.index {
		c, v := &all[i], b.fleet.members[i].view
		if c.outcome == filter.Open {
			d.Views = append(d.Views, ViewVersion{v.Cluster, v.Version})
		}
		if c.given > 0 {
			t := Target{Cluster: v.Cluster, Replicas: c.given, New: max(0, c.given-c.present), Waiting: max(0, min(c.given, c.present)-c.running)}
			if v.Seen {
				t.View, t.ExactVersion = v.Version, v.exactVersion()
			}
			d.Targets = append(d.Targets, t)
		}
	}
}
