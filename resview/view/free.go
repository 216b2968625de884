// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
)

// Free is room that is there in one piece.
type Free struct {
	// Nodes is how many usable nodes have at least this much free, each of them.
	Nodes int
	// Amounts are what is free on one node, of CPU, memory and whatever else is seldom: not of pods and local storage.
	Amounts Amounts
}

// maxFrontier is how many nodes are kept as largest while looking: beyond it the search stays short and forgets those
// that have the least CPU.
const maxFrontier = 256

// Largest returns the largest free shapes: the room on usable nodes that no other node has as much of in everything.
// Where there are more than limit of them, they are thinned out evenly between the one with the most CPU and the one with
// the least. A node that holds no further pod has none, as one that says of no pods that it holds them. What is taken beyond what there is counts as none free.
func (v *View) Largest(limit int) []Free {
	order := v.byWeight()
	rows := v.free(order)
	var frontier [][]int64
	for _, row := range rows { // Sorted: none has as much of everything as one before it.
		if len(frontier) < maxFrontier && !slices.ContainsFunc(frontier, func(f []int64) bool { return covers(f, row) }) {
			frontier = append(frontier, row)
		}
	}
	frontier = thin(frontier, limit)
	out := make([]Free, 0, len(frontier))
	for _, f := range frontier {
		nodes := 0
		for _, row := range rows {
			if covers(row, f) {
				nodes++
			}
		}
		amounts := make(map[string]int64, len(order))
		for i, d := range order {
			amounts[v.resources[d]] = f[i]
		}
		out = append(out, Free{Nodes: nodes, Amounts: MakeAmounts(amounts)})
	}
	return out
}

// free returns what each usable node with room for a pod has free of the resources in order; the most comes first.
func (v *View) free(order []int) [][]int64 {
	pods := slices.Index(v.resources, Pods)
	var rows [][]int64
	for _, c := range v.chunks {
		for i := range c.nodes {
			has, taken := v.row(c.allocatable, i), v.row(c.allocated, i)
			if !c.nodes[i].conditions.Usable() || pods < 0 || has[pods] <= taken[pods] {
				continue
			}
			row, some := make([]int64, len(order)), false
			for at, d := range order {
				row[at] = max(0, has[d]-taken[d])
				some = some || row[at] > 0
			}
			if some {
				rows = append(rows, row)
			}
		}
	}
	slices.SortFunc(rows, func(a, b []int64) int { return slices.Compare(b, a) })
	return rows
}

// byWeight returns the resources that make a shape by what is looked at first: CPU, memory, then the others by name.
func (v *View) byWeight() []int {
	var order []int
	for d, name := range v.resources {
		if name != Pods && name != EphemeralStorage {
			order = append(order, d)
		}
	}
	rank := func(name string) int { return slices.Index([]string{Memory, CPU}, name) } // -1: any other.
	slices.SortFunc(order, func(a, b int) int {
		x, y := v.resources[a], v.resources[b]
		return cmp.Or(cmp.Compare(rank(y), rank(x)), cmp.Compare(x, y))
	})
	return order
}

// covers says whether a has at least as much as b of everything.
func covers(a, b []int64) bool {
	for i := range b {
		if a[i] < b[i] {
			return false
		}
	}
	return true
}

// thin keeps limit of the rows: the first, the last, and those between at even distances.
func thin(rows [][]int64, limit int) [][]int64 {
	switch {
	case limit < 1:
		return nil
	case len(rows) <= limit:
		return rows
	case limit == 1:
		return rows[:1]
	}
	out := make([][]int64, 0, limit)
	for i := range limit {
		out = append(out, rows[i*(len(rows)-1)/(limit-1)])
	}
	return out
}
