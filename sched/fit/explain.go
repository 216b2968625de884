// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weir-io/weir/sched/dimension"
)

// A Lack is why not one pod fits.
type Lack int

// The kinds of Lack.
const (
	NoNode  Lack = iota // no node that the pod may be on
	NoSum               // too little is free in all
	NoShape             // enough is free in all, on no node at once
)

// Explain says why not one of the pods fits in the room. The text names amounts, not nodes.
func (s *Seeker) Explain(room Room) (Lack, string) {
	switch {
	case len(room) == 0:
		return NoNode, "the view has no node"
	case !slices.ContainsFunc(room, func(sh shape) bool { return s.welcome(sh.class) }):
		return NoNode, "no node meets the node selector, the node affinity and the tolerations of the pod"
	case s.nowhere:
		return NoSum, fmt.Sprintf("no node has %s; one replica needs %s", s.unknown, dimension.Format(s.unknown, s.pod.Need[s.unknown]))
	}
	for _, n := range s.needs {
		if lack, text, short := s.short(room, n); short {
			return lack, text
		}
	}
	needs := make([]string, len(s.needs))
	for i, n := range s.needs {
		name := s.catalogue.names.Name(n.place)
		needs[i] = dimension.Format(name, n.amount) + " " + name
	}
	return NoShape, fmt.Sprintf("no node has %s free at once", strings.Join(needs, ", "))
}

// most is the largest sum that is told.
const most = math.MaxInt64 / 2

// short tells of a need that no node can meet of those that the pod may be on.
func (s *Seeker) short(room Room, n need) (Lack, string, bool) {
	name := s.catalogue.names.Name(n.place)
	var sum, largest int64
	for i := range room {
		if n.place >= len(room[i].free) || room[i].free[n.place] <= 0 || !s.welcome(room[i].class) {
			continue
		}
		free := room[i].free[n.place]
		if free >= n.amount {
			return 0, "", false
		}
		sum += min(free*min(room[i].count, most/free), most-sum)
		largest = max(largest, free)
	}
	amount := func(n int64) string { return dimension.Format(name, n) }
	switch {
	case name == dimension.Pods:
		return NoSum, "every node runs as many pods as it may", true
	case sum < n.amount:
		return NoSum, fmt.Sprintf("%s %s is free in all; one replica needs %s", amount(sum), name, amount(n.amount)), true
	}
	return NoShape, fmt.Sprintf("%s %s is free in pieces of %s at most; one replica needs %s", amount(sum), name, amount(largest), amount(n.amount)), true
}
