// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"testing"
	"time"
)

func TestExplore(t *testing.T) {
	suites := []*suite{
		{name: "two clusters", replicas: Owned, dns: true, before: []int32{1, 1}, grown: []int32{0, 2}, goals: []Goal{Drain, Stay},
			demand: 2, maxStep: 250, step: 1, faults: 1, kinds: base, users: true},
		{name: "two clusters 3", replicas: Owned, dns: true, before: []int32{2, 1}, grown: []int32{0, 3}, goals: []Goal{Drain, Stay},
			demand: 3, maxStep: 350, step: 1, faults: 2, kinds: base, users: true, minds: true},
		{name: "two clusters all faults", replicas: Owned, dns: true, before: []int32{2, 2}, grown: []int32{0, 3}, goals: []Goal{Drain, Stay},
			demand: 3, maxStep: 350, step: 1, faults: 2, kinds: 1<<10 - 1, users: true, client: true, limits: true, budget: 2},
		{name: "on demand", replicas: Owned, steering: OnDemand, dns: true, before: []int32{2, 1}, grown: []int32{0, 3}, goals: []Goal{Drain, Stay},
			demand: 3, step: 1, faults: 2, kinds: 1<<10 - 1, users: true},
		{name: "plain", replicas: Plain, dns: true, before: []int32{2, 2}, grown: []int32{0, 0}, goals: []Goal{Drain, Stay}, maxStep: 300,
			step: 1, faults: 2, kinds: 1<<10 - 1, users: true, headroom: Require},
		{name: "two drains", replicas: Owned, dns: false, before: []int32{1, 1, 2}, grown: []int32{1, 1, 2}, goals: []Goal{Drain, Drain, Stay}, maxStep: 0,
			demand: 2, faults: 1, kinds: base, users: true},
		{name: "move", replicas: Owned, dns: true, before: []int32{2, 1}, grown: []int32{0, 3}, goals: []Goal{Move, Stay},
			demand: 3, maxStep: 350, step: 1, faults: 1, kinds: base, users: true},
		{name: "three", replicas: Owned, dns: true, before: []int32{1, 1, 1}, grown: []int32{0, 2, 2}, goals: []Goal{Drain, Stay, Stay},
			demand: 3, maxStep: 200, step: 1, faults: 1, kinds: base, users: true},
	}
	for _, u := range suites {
		t.Run(u.name, func(t *testing.T) {
			t0 := time.Now()
			g := explore(u, Next, 4)
			if g.complaint == "" {
				t.Log("longest", g.ends())
			}
			t.Log(len(g.keys), len(g.dst), g.kinds, g.codes, g.tempted, len(u.splits), time.Since(t0))
			if g.complaint != "" {
				t.Fatal(g.complaint)
			}
		})
	}
}
