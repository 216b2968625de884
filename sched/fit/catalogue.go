// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weir-io/weir/sched/dimension"
	"github.com/weir-io/weir/sched/match"
)

// unlimited is what is free of pods on a node that does not say how many it can run.
const unlimited = math.MaxInt64 / 4

// A Node is one node, or several that are alike.
type Node struct {
	Count  int64 // how many; none where it is 0 or less
	Labels map[string]string
	Taints []match.Taint
	Free   dimension.Amounts // on each; below 0 where more is taken than there is
}

// A Room is the nodes of one cluster. It is never changed.
type Room []shape

// A shape is nodes of one class with the same amounts free.
type shape struct {
	count int64
	class int32
	free  []int64 // by place in the catalogue's names; what lies beyond its end is 0
}

// A Catalogue holds the resource names and the classes of nodes of a fleet, each once. Once the rooms are made it is only
// read, and serves many goroutines.
type Catalogue struct {
	names   dimension.Names
	classes []class
	byText  map[string]int32
}

// A class is what decides whether a pod may be on a node at all.
type class struct {
	labels map[string]string
	taints []match.Taint
}

// Room turns nodes into a room.
func (c *Catalogue) Room(nodes []Node) Room {
	c.names.Place(dimension.Pods)
	room := make(Room, 0, len(nodes))
	places := make(map[string]int, len(nodes))
	var key []byte
	for i := range nodes {
		n := &nodes[i]
		if n.Count <= 0 {
			continue
		}
		s := shape{n.Count, c.class(n.Labels, n.Taints), c.vector(n.Free)}
		key = binary.AppendVarint(key[:0], int64(s.class))
		for _, amount := range s.free {
			key = binary.AppendVarint(key, amount)
		}
		if at, there := places[string(key)]; there {
			room[at].count += s.count
			continue
		}
		places[string(key)] = len(room)
		room = append(room, s)
	}
	return room
}

// add adds a shape to a room that is being made, to the one like it where there is one.
func (r Room) add(s shape) Room {
	for i := range r {
		if r[i].class == s.class && slices.Equal(r[i].free, s.free) {
			r[i].count += s.count
			return r
		}
	}
	return append(r, s)
}

func (c *Catalogue) vector(free dimension.Amounts) []int64 {
	for _, name := range slices.Sorted(maps.Keys(free)) {
		c.names.Place(name)
	}
	vector := make([]int64, c.names.Len())
	if _, stated := free[dimension.Pods]; !stated {
		vector[c.names.Place(dimension.Pods)] = unlimited
	}
	for name, amount := range free {
		vector[c.names.Place(name)] = amount
	}
	return vector
}

func (c *Catalogue) class(labels map[string]string, taints []match.Taint) int32 {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		fmt.Fprintf(&text, "%q=%q,", key, labels[key])
	}
	for _, taint := range taints {
		fmt.Fprintf(&text, "%q=%q:%q,", taint.Key, taint.Value, taint.Effect)
	}
	if id, ok := c.byText[text.String()]; ok {
		return id
	}
	if c.byText == nil {
		c.byText = map[string]int32{}
	}
	id := int32(len(c.classes)) //nolint:gosec // a fleet has fewer nodes than that.
	c.classes = append(c.classes, class{labels, taints})
	c.byText[text.String()] = id
	return id
}
