// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"iter"
	"slices"
)

// View is one member's nodes at one version. It never changes, and any number of goroutines may read it.
type View struct {
	incarnation uint64
	version     uint64

	resources []string
	chunks    []*chunk
	count     int

	usable                       int
	sumAllocatable, sumAllocated []int64
}

// View hands out what the book holds now. It costs a few words for every 64 nodes; what changes later is copied first.
func (b *Book) View() *View {
	clear(b.owned)
	return &View{
		incarnation: b.incarnation, version: b.version,
		resources: b.resources, chunks: slices.Clone(b.chunks), count: b.count,
		usable: b.usable, sumAllocatable: slices.Clone(b.sumAllocatable), sumAllocated: slices.Clone(b.sumAllocated),
	}
}

// Incarnation names the life of the agent whose numbers Version is one of.
func (v *View) Incarnation() uint64 { return v.incarnation }

// Version is the number of the last event that is in the view. It grows within one Incarnation only.
func (v *View) Version() uint64 { return v.version }

// Nodes is how many nodes there are, and usable how many of them take pods.
func (v *View) Nodes() (all, usable int) { return v.count, v.usable }

// Allocatable is what pods may take on all usable nodes together.
func (v *View) Allocatable() Amounts { return v.amounts(v.sumAllocatable) }

// Allocated is what pods have been promised on all usable nodes together.
func (v *View) Allocated() Amounts { return v.amounts(v.sumAllocated) }

// All goes over the nodes, in no order that means anything. Each is the caller's own.
func (v *View) All() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for _, c := range v.chunks {
			for i := range c.nodes {
				if !yield(v.node(c, i)) {
					return
				}
			}
		}
	}
}

func (v *View) node(c *chunk, i int) Node {
	r := c.nodes[i]
	return Node{
		Name: r.name, Labels: decodeLabels(r.labels), Taints: decodeTaints(r.taints), Reserved: decodeAmounts(r.reserved.Value()),
		Conditions: r.conditions, Allocatable: v.amounts(v.row(c.allocatable, i)), Allocated: v.amounts(v.row(c.allocated, i)),
	}
}

// row returns the numbers of node i among those of a chunk.
func (v *View) row(numbers []int64, i int) []int64 {
	n := len(v.resources)
	return numbers[i*n : (i+1)*n]
}

// amounts names numbers by their resources.
func (v *View) amounts(numbers []int64) Amounts {
	out := make(map[string]int64, len(numbers))
	for d, n := range numbers {
		out[v.resources[d]] = n
	}
	return MakeAmounts(out)
}
