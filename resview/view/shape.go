// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/binary"
	"slices"
	"strings"
)

// Shape is a set of nodes that are alike for whoever places pods.
type Shape struct {
	// Count is how many nodes have it.
	Count int
	// Example is the name of one of them, the first by name.
	Example string
	// Usable says that they take pods.
	Usable bool
	// Allocatable and Allocated are those of each of the nodes.
	Allocatable, Allocated Amounts
	// Labels and Taints are those of each of the nodes.
	Labels []Label
	Taints []Taint
}

// Shapes groups the nodes that are alike, in the order of their examples. It looks at every node: keep what it returns
// as long as the version is the same.
func (v *View) Shapes() []Shape {
	type group struct {
		chunk *chunk
		at    int
		count int
	}
	groups := map[shapeKey]*group{}
	var key []byte
	for _, c := range v.chunks {
		for i := range c.nodes {
			r := &c.nodes[i]
			key = appendNumbers(appendNumbers(key[:0], v.row(c.allocatable, i)), v.row(c.allocated, i))
			k := shapeKey{labels: r.labels, taints: r.taints, usable: r.conditions.Usable(), numbers: string(key)}
			g := groups[k]
			switch {
			case g == nil:
				groups[k] = &group{chunk: c, at: i, count: 1}
			case r.name < g.chunk.nodes[g.at].name:
				g.chunk, g.at, g.count = c, i, g.count+1
			default:
				g.count++
			}
		}
	}
	out := make([]Shape, 0, len(groups))
	for k, g := range groups {
		out = append(out, Shape{
			Count: g.count, Example: g.chunk.nodes[g.at].name, Usable: k.usable,
			Allocatable: v.amounts(v.row(g.chunk.allocatable, g.at)), Allocated: v.amounts(v.row(g.chunk.allocated, g.at)),
			Labels: decodeLabels(k.labels), Taints: decodeTaints(k.taints),
		})
	}
	slices.SortFunc(out, func(a, b Shape) int { return strings.Compare(a.Example, b.Example) })
	return out
}

// shapeKey is all that makes a shape.
type shapeKey struct {
	labels, taints text
	usable         bool
	numbers        string
}

func appendNumbers(to []byte, numbers []int64) []byte {
	for _, n := range numbers {
		to = binary.AppendVarint(to, n)
	}
	return to
}
