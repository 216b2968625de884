// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

// place is what one member holds of a workload, and what it shall come to hold.
type place struct {
	cluster string
	planned int32 // now
	decided int32
	ready   int32 // seen there
	serves  int32 // of them those that stay
	seen    bool  // ready is how things are, not how they were
	rolling bool  // pods of an older template are still there
	held    string
	lowers  bool // a drain takes what an autoscaler sets
	stray   bool // what there is, an autoscaler set: nothing is planned there
}

// Steps of a plan without traffic of weir's. They are named as those of a shift.
const (
	stepUp   = "ReplicasUp"
	stepDown = "ReplicasDown"
)

// move is a plan and what it waits for.
type move struct {
	plan    []v1alpha1.ClusterReplicas // by cluster
	lowered []string                   // where autoscalers have their limits lowered to the plan, sorted
	step    string                     // empty: the plan is the decision
	blocked []v1alpha1.Blocker
	notices []v1alpha1.Notice
}

// plain plans a workload whose traffic weir does not steer. Members that get more have it planned at once. Members that get
// fewer keep as many, all together, as are not ready yet in those that stay: as many ready replicas as were wanted until
// now, or are wanted from now on if that is fewer, are always somewhere. Members whose pods are being replaced by a rollout
// do not count as ready, and while what is known is of an older plan (current is false) nobody does. Places come sorted by
// cluster.
func plain(places []place, wanted int32, current bool) move {
	var m move
	var stood int64
	for i := range places {
		stood += int64(places[i].planned)
	}
	demand := min(int64(wanted), stood)
	keep := demand
	var lower []*place
	for i := range places {
		p := &places[i]
		if p.decided < p.planned {
			lower = append(lower, p)
			continue
		}
		// Pods beyond what was planned until now are on their way out.
		p.serves = min(p.ready, p.planned)
		if current && p.seen && !p.rolling {
			keep -= int64(p.serves)
		}
		if p.decided > p.planned {
			m.step = stepUp
			p.planned = p.decided
		}
	}
	if len(lower) > 0 {
		m.lower(places, lower, max(keep, 0), current)
	}
	m.lowered = m.drained(places, keep, current)
	for _, p := range places {
		if p.planned > 0 || p.decided > 0 {
			m.plan = append(m.plan, v1alpha1.ClusterReplicas{Name: p.cluster, Replicas: p.planned})
		}
	}
	return m
}

// drained are the members in which a drain takes what an autoscaler sets, once nothing is planned there. What it keeps beyond
// any plan waits, too, until the others are ready.
func (m *move) drained(places []place, keep int64, current bool) []string {
	var out []string
	for _, p := range places {
		switch {
		case !p.lowers || p.decided > 0 || p.planned > 0:
		case p.stray && keep > 0:
			m.step = cmp.Or(m.step, stepDown)
			if current && len(m.blocked) == 0 && !m.rolls(places) {
				m.waits(places, int64(p.ready))
			}
		default:
			out = append(out, p.cluster)
		}
	}
	return out
}

// lower takes from members what may go while keep replicas stay in them all together.
func (m *move) lower(places []place, lower []*place, keep int64, current bool) {
	if keep > 0 && m.rolls(places) {
		return
	}
	// Those with the fewest ready go first: what stays shall serve.
	slices.SortStableFunc(lower, func(a, b *place) int { return cmp.Compare(a.ready, b.ready) })
	var stay int64
	for _, p := range lower {
		stay += int64(p.planned)
	}
	for _, p := range lower {
		gone := min(int64(p.planned-p.decided), max(0, stay-keep))
		if gone > 0 {
			m.step = cmp.Or(m.step, stepDown)
		}
		p.planned -= int32(gone) //nolint:gosec // at most what was planned.
		stay -= gone
	}
	if slices.ContainsFunc(lower, func(p *place) bool { return p.planned > p.decided }) {
		m.step = cmp.Or(m.step, stepDown)
		if current {
			m.waits(places, stay)
		}
	}
}

// rolls says whether a rollout has to end before replicas go down elsewhere.
func (m *move) rolls(places []place) bool {
	i := slices.IndexFunc(places, func(p place) bool { return p.rolling && p.decided > 0 })
	if i < 0 {
		return false
	}
	m.step = cmp.Or(m.step, stepDown)
	m.blocked = append(m.blocked, v1alpha1.Blocker{
		Code: "HeldByFloor", Cluster: places[i].cluster, Subject: "rollout", Wakes: "RolloutEnded",
		Message: "a rollout is in progress in " + places[i].cluster + ": replicas go down elsewhere when it has ended",
	})
	return true
}

// waits says whom the members that keep replicas wait for.
func (m *move) waits(places []place, stay int64) {
	for _, p := range places {
		b := v1alpha1.Blocker{Cluster: p.cluster}
		switch {
		case p.decided == 0 || p.planned > p.decided || p.seen && p.serves >= p.decided:
			continue
		case p.held != "":
			b.Code, b.Subject, b.Wakes, b.Message = "HeldByFloor", p.held, "FloorLowered", fmt.Sprintf(
				"%s owns the replicas in %s: weir raises nothing there", p.held, p.cluster)
		case !p.seen:
			b.Code, b.Wakes, b.Message = "CannotSee", "SightBack", "nobody sees into "+p.cluster+": its replicas do not count as ready"
		default:
			b.Code, b.Wakes, b.Message = "NotReady", "ReplicasReady", fmt.Sprintf("%d of %s ready in %s", p.serves, hub.Count(p.decided, "replica"), p.cluster)
		}
		m.blocked = append(m.blocked, b)
	}
	if len(m.blocked) == 0 {
		m.blocked = append(m.blocked, v1alpha1.Blocker{
			Code: "NoCapacity", Wakes: "RoomFound", Message: hub.Count(stay, "replica") + " without a place elsewhere: kept where they are",
		})
	}
	m.blocked = m.blocked[:min(len(m.blocked), v1alpha1.MaxBlocked)]
}
