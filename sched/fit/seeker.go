// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"maps"
	"math"
	"slices"

	"github.com/weir-io/weir/sched/dimension"
	"github.com/weir-io/weir/sched/match"
)

// A Pod is what one replica needs of a node.
type Pod struct {
	Need        dimension.Amounts // pods need not be stated
	Nodes       match.Any         // the nodes it may be on, by label
	Tolerations []match.Toleration
	Apart       bool // no two of it on one node
}

// Exact reports whether the pod needs anything that is counted in whole pieces of its own, so that a decision about it
// stands only on a view that has not changed: an accelerator, or a node for itself.
func (p *Pod) Exact() bool {
	for name, amount := range p.Need {
		if amount > 0 && dimension.Exact(name) {
			return true
		}
	}
	return p.Apart
}

// A Seeker seeks places for one kind of pod. It serves one goroutine at a time.
type Seeker struct {
	catalogue *Catalogue
	pod       *Pod
	needs     []need
	nowhere   bool   // it needs a resource that no node of the fleet has
	unknown   string // the first of those by name
	allowed   []verdict
}

// A need below small, times as many pods as there can be, stays within 64 bits. To multiply saves most of the divisions,
// which are what counting costs.
const small = 1 << 31

type need struct {
	place  int
	amount int64
}

type verdict int8

const (
	unasked verdict = iota
	welcome
	unwelcome
)

// Seeker makes a Seeker for a pod.
func (c *Catalogue) Seeker(pod *Pod) *Seeker {
	s := &Seeker{catalogue: c, pod: pod, needs: []need{{0, 1}}, allowed: make([]verdict, len(c.classes))}
	for _, name := range slices.Sorted(maps.Keys(pod.Need)) {
		amount := pod.Need[name]
		if amount <= 0 || name == dimension.Pods {
			continue
		}
		place, known := c.names.Find(name)
		if !known {
			if !s.nowhere {
				s.nowhere, s.unknown = true, name
			}
			continue
		}
		s.needs = append(s.needs, need{place, amount})
	}
	return s
}

// Pod that places are sought for.
func (s *Seeker) Pod() *Pod { return s.pod }

// Count is how many of the pods fit in the room, limit at most.
func (s *Seeker) Count(room Room, limit int64) int64 {
	if s.nowhere || limit <= 0 {
		return 0
	}
	total := int64(0)
	for i := range room {
		if s.welcome(room[i].class) {
			each := s.each(&room[i], limit)
			if each > 0 && room[i].count >= (limit-total+each-1)/each {
				return limit
			}
			total += each * room[i].count
		}
	}
	return total
}

// each is how many fit on one node of a shape, limit at most.
func (s *Seeker) each(sh *shape, limit int64) int64 {
	each := limit
	if s.pod.Apart {
		each = min(each, 1)
	}
	for _, n := range s.needs {
		free := int64(0)
		if n.place < len(sh.free) {
			free = sh.free[n.place]
		}
		if free < n.amount {
			return 0
		}
		if n.amount >= small || free < each*n.amount {
			each = min(each, free/n.amount)
		}
	}
	return each
}

func (s *Seeker) welcome(class int32) bool {
	if s.allowed[class] == unasked {
		s.allowed[class] = unwelcome
		of := &s.catalogue.classes[class]
		taint, repelled := match.Repelled(of.taints, s.pod.Tolerations)
		if (!repelled || taint.Effect == match.PreferNoSchedule) && s.pod.Nodes.Matches(of.labels) {
			s.allowed[class] = welcome
		}
	}
	return s.allowed[class] == welcome
}

// Take returns the room once n of the pods are in it, as far as they fit, each on the node that could then hold most of
// them. The room it is given stays as it is.
func (s *Seeker) Take(room Room, n int64) Room {
	for n > 0 && !s.nowhere {
		most, nodes, second := s.emptiest(room)
		if most == 0 {
			break
		}
		// As many at once on each of the emptiest nodes as leave none of them emptier than the next.
		each := max(1, min(most-second, n/nodes))
		room, n = s.put(room, most, each, n)
		if s.pod.Apart {
			break // each of these nodes has one now
		}
	}
	return room
}

// emptiest is how many fit on the emptiest nodes, how many such nodes there are, and how many fit on the next.
func (s *Seeker) emptiest(room Room) (most, nodes, second int64) {
	for i := range room {
		if !s.welcome(room[i].class) {
			continue
		}
		switch each := s.each(&room[i], math.MaxInt32); {
		case each > most:
			most, nodes, second = each, room[i].count, most
		case each == most:
			nodes += room[i].count
		default:
			second = max(second, each)
		}
	}
	return most, nodes, second
}

// put puts so many pods on each node that could hold most, while n lasts, and returns how many are left. The shapes of a
// room are all different, so only one that pods were put on can come to be like another.
func (s *Seeker) put(room Room, most, each, n int64) (Room, int64) {
	out := make(Room, 0, len(room)+1)
	changed := false
	for i := range room {
		sh := room[i]
		if n >= each && s.welcome(sh.class) && s.each(&sh, math.MaxInt32) == most {
			if nodes := min(sh.count, n/each); nodes > 0 {
				out, changed = out.add(s.less(&sh, nodes, each)), true
				n -= nodes * each
				sh.count -= nodes
			}
		}
		switch {
		case sh.count == 0:
		case changed:
			out = out.add(sh)
		default:
			out = append(out, sh)
		}
	}
	return out, n
}

// less is so many nodes of a shape once each of them holds pods more.
func (s *Seeker) less(from *shape, nodes, pods int64) shape {
	free := slices.Clone(from.free)
	for _, n := range s.needs {
		free[n.place] -= pods * n.amount
	}
	return shape{nodes, from.class, free}
}
