// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

// goesBack reports whether the whole service returns to its start: something aborts,
// and no other goal has changed what the end shall be.
func (p *plan) goesBack() bool {
	abort := false
	for _, c := range p.Clusters {
		if c.Goal != Stay && c.Goal != Abort {
			return false
		}
		abort = abort || c.Goal == Abort
	}
	return abort
}

// Abort needs no order of its own. The stages that give back run before those that
// take away, and each does nothing where its work is done already: replicas up and
// ready, the fence off and proven, names back, then weights. Where no pod was fenced
// or removed the first three are empty, and weights come first.

// busy reports whether any goal may be worked on now.
func (p *plan) busy() bool {
	for i := range p.Clusters {
		if p.Clusters[i].Goal != Stay && !p.held[i] {
			return true
		}
	}
	return false
}
