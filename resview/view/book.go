// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import "unique"

// Book is one member's nodes as they change. It belongs to one goroutine at a time; the Views it hands out to anybody.
type Book struct {
	incarnation uint64
	version     uint64
	ids         [rememberedIDs]uint64

	resources []string // the names of resources, in the order in which they were met
	chunks    []*chunk
	owned     []uint8 // what of each chunk no View holds
	count     int
	index     map[string]int32
	bytes     int

	usable                       int // nodes that take pods, which alone are in the sums
	sumAllocatable, sumAllocated []int64
}

// NewBook returns an empty Book for the life of an agent that incarnation names.
func NewBook(incarnation uint64) *Book {
	return &Book{incarnation: incarnation, index: map[string]int32{}}
}

// Incarnation names the life of the agent whose numbers Version is one of.
func (b *Book) Incarnation() uint64 { return b.incarnation }

// Version is the number of the last event that was applied.
func (b *Book) Version() uint64 { return b.version }

// Nodes is how many nodes there are.
func (b *Book) Nodes() int { return b.count }

// Seal says that the nodes which were added are all of a snapshot, true at this version.
func (b *Book) Seal(version uint64) { b.version = version }

// Take judges an event by its number, and applies it if it is the next one. An error is a *FaultError, and then nothing was
// applied.
func (b *Book) Take(e *Event) (Order, error) {
	order := b.Judge(e.Sequence, e.ID)
	if order != Next {
		return order, nil
	}
	if err := b.apply(e); err != nil {
		return order, err
	}
	b.version = e.Sequence
	b.ids[e.Sequence%rememberedIDs] = e.ID
	return order, nil
}

func (b *Book) apply(e *Event) error {
	switch e.Kind {
	case NodeAdded:
		if e.Node == nil {
			return fault(Invalid, "event %d: a node was added, and is not told", e.Sequence)
		}
		return b.Add(e.Node)
	case NodeUpdated:
		return b.update(e)
	case NodeDeleted:
		return b.remove(e.Name)
	case PodAssigned:
		return b.pod(e, 1)
	case PodDeleted:
		return b.pod(e, -1)
	}
	return fault(Invalid, "event %d: unknown kind", e.Sequence)
}

// Add takes in one node of a snapshot. An error is a *FaultError, and then the node was not taken.
func (b *Book) Add(n *Node) error {
	if err := n.check(); err != nil {
		return err
	}
	if _, known := b.index[n.Name]; known {
		return fault(OutOfStep, "node %q was added, and was there already", n.Name)
	}
	if b.count >= MaxNodes {
		return fault(TooMuch, "more than %d nodes", MaxNodes)
	}
	r := record{
		name: n.Name, labels: encodeLabels(n.Labels), taints: encodeTaints(n.Taints),
		reserved: unique.Make(n.Reserved.encode()), conditions: n.Conditions,
	}
	if err := b.meet(n.Allocatable, n.Allocated); err != nil {
		return err
	}
	if err := b.weigh(r.size()); err != nil {
		return err
	}
	place := b.push(r)
	b.index[n.Name] = place
	i, at := slot(place)
	c := b.own(i, ownAllocatable|ownAllocated)
	b.set(c.allocatable, at, n.Allocatable)
	b.set(c.allocated, at, n.Allocated)
	b.tally(place, 1)
	return nil
}

func (b *Book) update(e *Event) error {
	if e.Node == nil || e.Changed == 0 {
		return fault(Invalid, "event %d: a node was updated, and no change is told", e.Sequence)
	}
	place, known := b.index[e.Name]
	if !known {
		return fault(OutOfStep, "node %q was updated, and is not there", e.Name)
	}
	changed := *e.Node
	changed.Name, changed.Allocated = e.Name, nil
	if err := changed.check(); err != nil {
		return err
	}
	if e.Changed&FieldAllocatable != 0 {
		if err := b.meet(changed.Allocatable, nil); err != nil {
			return err
		}
	}
	i, at := slot(place)
	r := b.chunks[i].nodes[at]
	before := r.size()
	r.change(e.Changed, &changed)
	if err := b.weigh(r.size() - before); err != nil {
		return err
	}
	b.tally(place, -1)
	if r != b.chunks[i].nodes[at] {
		b.own(i, ownRecords).nodes[at] = r
	}
	if e.Changed&FieldAllocatable != 0 {
		b.set(b.own(i, ownAllocatable).allocatable, at, changed.Allocatable)
	}
	b.tally(place, 1)
	return nil
}

// change takes over the fields that an event carries.
func (r *record) change(fields Fields, n *Node) {
	if fields&FieldReserved != 0 {
		r.reserved = unique.Make(n.Reserved.encode())
	}
	if fields&FieldLabels != 0 {
		r.labels = encodeLabels(n.Labels)
	}
	if fields&FieldTaints != 0 {
		r.taints = encodeTaints(n.Taints)
	}
	if fields&FieldConditions != 0 {
		r.conditions = n.Conditions
	}
}

func (r *record) size() int {
	return len(r.name) + len(r.labels.Value()) + len(r.taints.Value()) + len(r.reserved.Value())
}

func (b *Book) remove(name string) error {
	place, known := b.index[name]
	if !known {
		return fault(OutOfStep, "node %q was deleted, and is not there", name)
	}
	i, at := slot(place)
	b.bytes -= b.chunks[i].nodes[at].size()
	b.tally(place, -1)
	delete(b.index, name)
	b.drop(place)
	return nil
}

// pod adds what a pod takes, or takes it away again. On a node that is not there, because it was cordoned, it changes
// nothing.
func (b *Book) pod(e *Event, sign int64) error {
	if err := e.Amounts.check("requests"); err != nil {
		return err
	}
	place, known := b.index[e.Name]
	if !known {
		return checkName(e.Name)
	}
	if sign > 0 {
		if err := b.meet(nil, e.Amounts); err != nil {
			return err
		}
	}
	i, at := slot(place)
	n := len(b.resources)
	for _, m := range e.Amounts {
		d, have := b.resource(m.Name), int64(0)
		if d >= 0 {
			have = b.chunks[i].allocated[at*n+d]
		}
		switch sum := have + sign*m.Value; {
		case sum < 0:
			return fault(OutOfStep, "pod on node %q gives back %d of %s, and %d was taken", e.Name, m.Value, m.Name, have)
		case sum > MaxAmount:
			return fault(TooMuch, "pods on node %q take %d of %s, %d at most", e.Name, sum, m.Name, MaxAmount)
		}
	}
	c := b.own(i, ownAllocated)
	counted := c.nodes[at].conditions.Usable()
	for _, m := range e.Amounts {
		d := b.resource(m.Name)
		c.allocated[at*n+d] += sign * m.Value
		if counted {
			b.sumAllocated[d] += sign * m.Value
		}
	}
	return nil
}
