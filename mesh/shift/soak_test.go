// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package shift

import "testing"

// TestExploreSoak walks spaces that take minutes and several gigabytes. The largest leaves
// DNS out, which the others have.
func TestExploreSoak(t *testing.T) {
	three := []Goal{Drain, Stay, Stay}
	cover := newCoverage()
	for _, u := range []*suite{
		{
			name: "three clusters, four faults", replicas: Owned, before: []int32{1, 1, 1}, grown: []int32{0, 2, 2}, goals: three,
			demand: 3, maxStep: 500, step: 1, faults: 4, kinds: lapse | stick | join | empty, users: true,
		},
		{
			name: "three clusters, fence only, four faults", replicas: Owned, steering: OnDemand, dns: true, before: []int32{1, 1, 1}, grown: []int32{0, 2, 2}, goals: three,
			demand: 3, step: 1, faults: 4, kinds: base, users: true,
		},
		{
			name: "two clusters, every fault three times", replicas: Owned, dns: true, before: []int32{2, 1}, grown: []int32{0, 3}, goals: three[:2],
			demand: 3, maxStep: 350, step: 1, faults: 3, kinds: all, users: true, client: true, limits: true,
		},
	} {
		states, transitions, longest := check(t, u, cover)
		t.Logf("%-40s %9d %11d %8d", u.name, states, transitions, longest)
	}
}
