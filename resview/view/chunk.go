// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import "slices"

// chunkNodes is how many nodes share a chunk: so few that copying one for a change costs little, and so many that
// handing out a view is cheap.
const chunkNodes = 64

// record is what is kept of a node besides its numbers.
type record struct {
	name                     string
	labels, taints, reserved text
	conditions               Conditions
}

// chunk holds up to chunkNodes nodes. The numbers of node i stand at [i*stride, (i+1)*stride), one for each resource of
// the book. A chunk that a View holds is never written to.
type chunk struct {
	nodes       []record
	allocatable []int64
	allocated   []int64
}

// Parts of a chunk that may be written to, since no View holds them.
const (
	ownRecords uint8 = 1 << iota
	ownAllocatable
	ownAllocated
	ownChunk
	ownAll = ownRecords | ownAllocatable | ownAllocated | ownChunk
)

// own returns chunk i with the given parts free to be written to; what a View holds of them is copied first.
func (b *Book) own(i int, parts uint8) *chunk {
	have := b.owned[i]
	if have&ownChunk == 0 {
		c := *b.chunks[i]
		b.chunks[i] = &c
	}
	c := b.chunks[i]
	if missing := parts &^ have; missing != 0 {
		if missing&ownRecords != 0 {
			c.nodes = clone(c.nodes)
		}
		if missing&ownAllocatable != 0 {
			c.allocatable = clone(c.allocatable)
		}
		if missing&ownAllocated != 0 {
			c.allocated = clone(c.allocated)
		}
	}
	b.owned[i] = have | parts | ownChunk
	return c
}

// clone copies exactly: chunks of small members must not hold room that they never use.
func clone[T any](s []T) []T { return append(make([]T, 0, len(s)), s...) }

// slot returns where node i of the book is.
func slot(i int32) (chunk, at int) { return int(i) / chunkNodes, int(i) % chunkNodes }

// push adds a node at the end, with zero amounts, and returns its place.
func (b *Book) push(r record) int32 {
	place := int32(b.count) //nolint:gosec // At most MaxNodes.
	i, _ := slot(place)
	if i == len(b.chunks) {
		b.chunks, b.owned = append(b.chunks, &chunk{}), append(b.owned, ownAll)
	}
	c := b.own(i, ownAll)
	zeros := make([]int64, len(b.resources))
	c.nodes = append(c.nodes, r)
	c.allocatable = append(c.allocatable, zeros...)
	c.allocated = append(c.allocated, zeros...)
	b.count++
	return place
}

// drop takes a node away and puts the last one in its place.
func (b *Book) drop(place int32) {
	last := int32(b.count - 1) //nolint:gosec // At most MaxNodes.
	from, fromAt := slot(last)
	source := b.own(from, ownAll)
	n := len(b.resources)
	if place != last {
		to, toAt := slot(place)
		c := b.own(to, ownAll)
		c.nodes[toAt] = source.nodes[fromAt]
		copy(c.allocatable[toAt*n:(toAt+1)*n], source.allocatable[fromAt*n:])
		copy(c.allocated[toAt*n:(toAt+1)*n], source.allocated[fromAt*n:])
		b.index[c.nodes[toAt].name] = place
	}
	source.nodes[fromAt] = record{} // Its strings shall go with it.
	source.nodes = source.nodes[:fromAt]
	source.allocatable, source.allocated = source.allocatable[:fromAt*n], source.allocated[:fromAt*n]
	b.count--
	if fromAt == 0 {
		b.chunks, b.owned = slices.Delete(b.chunks, from, from+1), slices.Delete(b.owned, from, from+1)
	}
}

// widen makes room for more resources on every node, for all of them at once: it copies every number.
func (b *Book) widen(names []string) {
	was := len(b.resources)
	zeros := make([]int64, len(names))
	b.resources = append(slices.Clip(b.resources), names...)
	b.sumAllocatable, b.sumAllocated = append(b.sumAllocatable, zeros...), append(b.sumAllocated, zeros...)
	spread := func(numbers []int64, nodes int) []int64 {
		out := make([]int64, 0, nodes*(was+len(names)))
		for i := range nodes {
			out = append(append(out, numbers[i*was:(i+1)*was]...), zeros...)
		}
		return out
	}
	for i, c := range b.chunks {
		nodes := len(c.nodes)
		b.chunks[i] = &chunk{nodes: c.nodes, allocatable: spread(c.allocatable, nodes), allocated: spread(c.allocated, nodes)}
		b.owned[i] = b.owned[i]&ownRecords | ownChunk | ownAllocatable | ownAllocated
	}
}
