// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sched

import "github.com/weir-io/weir/sched/filter"

// serving says, for each member of a fleet, whether it serves one kind.
type serving struct {
	kind    string
	members []bool // nil: no kind was asked about yet
}

// serves says for each member whether it serves a kind. Requests of a batch ask about few kinds, one after the other, and
// most members serve what others do too: each list is looked through once for a kind, however many members share it.
func (b *Batch) serves(kind string) []bool {
	if b.serving.members != nil && b.serving.kind == kind {
		return b.serving.members
	}
	if b.serving.members == nil {
		b.serving.members = make([]bool, len(b.fleet.members))
	}
	b.serving.kind = kind
	type list struct {
		first *string
		n     int
	}
	known := map[list]bool{}
	for i := range b.fleet.members {
		all := b.fleet.members[i].view.Serves
		if len(all) == 0 {
			b.serving.members[i] = true
			continue
		}
		this := list{&all[0], len(all)}
		answer, ok := known[this]
		if !ok {
			answer = filter.Serves(all, kind)
			known[this] = answer
		}
		b.serving.members[i] = answer
	}
	return b.serving.members
}
