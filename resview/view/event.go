// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

// Kind is what happened.
type Kind int

// The five kinds of events.
const (
	// NodeAdded: a node came, or takes pods again. It is told whole.
	NodeAdded Kind = iota + 1
	// NodeUpdated: some of what a node has or says changed.
	NodeUpdated
	// NodeDeleted: a node went, or was cordoned. What its pods do from then on changes nothing.
	NodeDeleted
	// PodAssigned: a pod takes its requests on a node.
	PodAssigned
	// PodDeleted: a pod finished or went, and gives back what it took.
	PodDeleted
)

// Fields says which fields of a node an event of kind NodeUpdated carries.
type Fields uint8

// The fields that can change on a node. What pods take changes by their own events.
const (
	FieldAllocatable Fields = 1 << iota
	FieldReserved
	FieldLabels
	FieldTaints
	FieldConditions
)

// Event is one change in a member.
type Event struct {
	// Sequence is the event's number: one more than that of the event before, in one life of the agent.
	Sequence uint64
	// ID tells the event from another one under the same number. Zero: not known.
	ID uint64
	// Kind says which of the fields below count.
	Kind Kind
	// Name of the node.
	Name string
	// Node is the whole node in NodeAdded; in NodeUpdated the fields that Changed names.
	Node *Node
	// Changed names what NodeUpdated carries.
	Changed Fields
	// Cordoned says of NodeDeleted that the node is there still, but takes no more pods.
	Cordoned bool
	// Pod is the UID of the pod.
	Pod string
	// Amounts are what PodAssigned takes, and what PodDeleted gives back.
	Amounts Amounts
}

// IDOf returns the ID that an agent gives to an event: a hash of when and what it is. Equal events have the same.
func IDOf(incarnation uint64, e *Event) uint64 {
	const (
		offset = 14695981039346656037 // FNV-1a
		prime  = 1099511628211
	)
	h := uint64(offset)
	number := func(n uint64) {
		for range 8 {
			h = (h ^ n&0xff) * prime
			n >>= 8
		}
	}
	word := func(s string) {
		number(uint64(len(s)))
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * prime
		}
	}
	number(incarnation)
	number(e.Sequence)
	number(uint64(e.Kind)) //nolint:gosec // One of five.
	word(e.Name)
	word(e.Pod)
	return max(h, 1)
}

// Order is where an event stands in the order of a Book.
type Order int

const (
	// Next: it is the one that was waited for.
	Next Order = iota + 1
	// Repeat: it was applied before.
	Repeat
	// Early: events before it are missing.
	Early
	// Conflict: another event was applied under its number, so that the two ends do not mean the same by it.
	Conflict
)

// rememberedIDs is how many of the last events a Book knows by ID.
const rememberedIDs = 128

// Judge says where an event with this number and ID stands. It changes nothing.
func (b *Book) Judge(sequence, id uint64) Order {
	switch {
	case sequence == b.version+1:
		return Next
	case sequence > b.version:
		return Early
	}
	if known := b.ids[sequence%rememberedIDs]; b.version-sequence < rememberedIDs && known != 0 && id != 0 && known != id {
		return Conflict
	}
	return Repeat
}
