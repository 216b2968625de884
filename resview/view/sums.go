// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import "slices"

// resource returns where a resource stands among the numbers of a node, -1 if no node has had it yet.
func (b *Book) resource(name string) int {
	for i, r := range b.resources {
		if r == name {
			return i
		}
	}
	return -1
}

// meet makes room for the resources that amounts name.
func (b *Book) meet(lists ...Amounts) error {
	var fresh []string
	for _, list := range lists {
		for _, m := range list {
			if b.resource(m.Name) < 0 && !slices.Contains(fresh, m.Name) {
				fresh = append(fresh, m.Name)
			}
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	if b.wide(len(fresh)) != nil {
		b.narrow()
	}
	if err := b.wide(len(fresh)); err != nil {
		return err
	}
	b.widen(fresh)
	return nil
}

// wide says what is wrong with more resources, which every node has a number of.
func (b *Book) wide(more int) error {
	if len(b.resources)+more > MaxResources {
		return fault(TooMuch, "more than %d resources over all nodes", MaxResources)
	}
	if b.bytes+b.count*(len(b.resources)+more)*16 > MaxBytes {
		return fault(TooMuch, "nodes of more than %d MiB in all", MaxBytes>>20)
	}
	return nil
}

// narrow forgets the resources that no node has any more.
func (b *Book) narrow() {
	was := len(b.resources)
	used := make([]bool, was)
	for _, c := range b.chunks {
		for i := range c.allocatable {
			used[i%was] = used[i%was] || c.allocatable[i] != 0 || c.allocated[i] != 0
		}
	}
	keep := func(numbers []int64) []int64 {
		var out []int64
		for i, n := range numbers {
			if used[i%was] {
				out = append(out, n)
			}
		}
		return out
	}
	var names []string
	for i, name := range b.resources {
		if used[i] {
			names = append(names, name)
		}
	}
	b.resources = names
	b.sumAllocatable, b.sumAllocated = keep(b.sumAllocatable), keep(b.sumAllocated)
	for i, c := range b.chunks {
		b.chunks[i] = &chunk{nodes: c.nodes, allocatable: keep(c.allocatable), allocated: keep(c.allocated)}
		b.owned[i] = b.owned[i]&ownRecords | ownChunk | ownAllocatable | ownAllocated
	}
}

// set writes the numbers of node at. Resources that amounts do not name become zero.
func (b *Book) set(numbers []int64, at int, amounts Amounts) {
	n := len(b.resources)
	own := numbers[at*n : (at+1)*n]
	clear(own)
	for _, m := range amounts {
		own[b.resource(m.Name)] = m.Value
	}
}

// tally adds a node to the sums, or takes it out of them. One that takes no pods is in none: what it has is of no use to
// anybody, and what is on it will not stay.
func (b *Book) tally(place int32, sign int64) {
	i, at := slot(place)
	c := b.chunks[i]
	if !c.nodes[at].conditions.Usable() {
		return
	}
	b.usable += int(sign)
	n := len(b.resources)
	for d := range n {
		b.sumAllocatable[d] += sign * c.allocatable[at*n+d]
		b.sumAllocated[d] += sign * c.allocated[at*n+d]
	}
}

// weigh accounts for what a change adds to what the book holds. Numbers count with their nodes.
func (b *Book) weigh(more int) error {
	if more > 0 && b.bytes+more+b.count*len(b.resources)*16 > MaxBytes {
		return fault(TooMuch, "nodes of more than %d MiB in all", MaxBytes>>20)
	}
	b.bytes += more
	return nil
}
