// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sched

import (
	"slices"
	"strings"

	"github.com/weir-io/weir/sched/divide"
	"github.com/weir-io/weir/sched/fit"
	"github.com/weir-io/weir/sched/reason"
)

// A Reservation keeps room in a cluster for replicas that are decided and not in its view yet.
type Reservation struct {
	Workload, Cluster string
	Pod               fit.Pod
	Replicas          int64
}

// A Batch decides requests one after the other, each seeing the room that those before it left. It serves one goroutine at
// a time.
type Batch struct {
	fleet   *Fleet
	rooms   []fit.Room       // by member; nil: as in the fleet
	holds   [][]hold         // by member, in the order they came
	owned   map[string][]int // workload → members where it holds room
	all     []candidate      // by member; scratch, as are those below
	index   []int            // of the clusters that are divided over, in the fleet
	parts   []divide.Cluster // the same clusters, as divide takes them
	reasons []reason.Reason
	split   divide.Divider // keeps its own scratch
	serving serving        // of the kind that was asked about last

	shortOf   [2]int64 // what shortText was made of
	shortText string
}

// A hold is a reservation in force.
type hold struct {
	workload string
	seeker   *fit.Seeker
	replicas int64
}

// NewBatch begins a batch. Reservations are those of earlier batches whose replicas the views do not count yet; after a
// restart they are rebuilt from bindings: for each cluster, what is decided less what is seen. One for a cluster that is
// not in the fleet is passed over.
func NewBatch(fleet *Fleet, reservations []Reservation) *Batch {
	b := &Batch{
		fleet: fleet, rooms: make([]fit.Room, len(fleet.members)), holds: make([][]hold, len(fleet.members)),
		owned: map[string][]int{}, all: make([]candidate, len(fleet.members)), reasons: []reason.Reason{},
	}
	for i := range reservations {
		r := &reservations[i]
		if member, ok := fleet.index[r.Cluster]; ok && r.Replicas > 0 {
			b.hold(member, hold{r.Workload, fleet.catalogue.Seeker(&r.Pod), r.Replicas})
		}
	}
	return b
}

// Reservations are those in force, by cluster and in the order they came: what the next batch begins with, as far as its
// views do not count them.
func (b *Batch) Reservations() []Reservation {
	var out []Reservation
	for i, holds := range b.holds {
		for _, h := range holds {
			out = append(out, Reservation{h.workload, b.fleet.members[i].view.Cluster, *h.seeker.Pod(), h.replicas})
		}
	}
	return out
}

// Release gives back all room that is held for a workload, as after a decision that could not be written.
func (b *Batch) Release(workload string) {
	for _, member := range b.owned[workload] {
		b.holds[member] = slices.DeleteFunc(b.holds[member], func(h hold) bool { return h.workload == workload })
		b.rooms[member] = b.roomFor(member, func(hold) bool { return true })
	}
	delete(b.owned, workload)
}

// Holds are the clusters in which room is held for a workload, by name.
func (b *Batch) Holds(workload string) []string {
	var names []string
	for _, member := range b.owned[workload] {
		names = append(names, b.fleet.members[member].view.Cluster)
	}
	slices.SortFunc(names, strings.Compare)
	return names
}

func (b *Batch) hold(member int, h hold) {
	b.rooms[member] = h.seeker.Take(b.room(member), h.replicas)
	b.holds[member] = append(b.holds[member], h)
	b.owned[h.workload] = append(b.owned[h.workload], member)
}

// room of a member, less what is held in it.
func (b *Batch) room(member int) fit.Room {
	if b.rooms[member] != nil {
		return b.rooms[member]
	}
	return b.fleet.members[member].room
}

// roomFor is the room of a member less what is held in it by those who count.
func (b *Batch) roomFor(member int, counts func(hold) bool) fit.Room {
	room := b.fleet.members[member].room
	for _, h := range b.holds[member] {
		if counts(h) {
			room = h.seeker.Take(room, h.replicas)
		}
	}
	return room
}
