// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

const all = crash | lapse | stick | join | empty | blind | foreign | arrival | floor | lose

// suites are the bounded spaces of every test run. Each is there for something that the
// others do not reach.
func suites() []*suite {
	drain, three := []Goal{Drain, Stay}, []Goal{Drain, Stay, Stay}
	return []*suite{
		{
			name: "two clusters, three faults", replicas: Owned, dns: true, before: []int32{2, 1}, grown: []int32{0, 3}, goals: drain,
			demand: 3, maxStep: 350, step: 1, faults: 3, kinds: base, users: true,
		},
		{
			name: "two clusters, every fault", replicas: Owned, dns: true, before: []int32{2, 2}, grown: []int32{0, 3}, goals: drain,
			demand: 3, maxStep: 350, step: 1, faults: 2, kinds: all, users: true, client: true, limits: true,
		},
		{
			name: "two clusters, minds change", replicas: Owned, dns: true, before: []int32{1, 1}, grown: []int32{0, 2}, goals: drain,
			demand: 2, maxStep: 250, step: 1, faults: 2, kinds: base, users: true, minds: true,
		},
		{
			name: "three clusters, two faults", replicas: Owned, dns: true, before: []int32{1, 1, 1}, grown: []int32{0, 2, 2}, goals: three,
			demand: 3, maxStep: 200, step: 1, faults: 2, kinds: base, users: true,
		},
		{
			name: "three clusters, fence only", replicas: Owned, steering: OnDemand, dns: true, before: []int32{1, 1, 1}, grown: []int32{0, 2, 2}, goals: three,
			demand: 3, step: 1, faults: 3, kinds: base, users: true,
		},
		{
			name: "budget", replicas: Owned, dns: true, before: []int32{2, 1}, grown: []int32{0, 3}, goals: drain,
			demand: 2, budget: 3, maxStep: 500, faults: 2, kinds: lose | lapse, users: true,
		},
		{
			name: "plain pods, three faults", replicas: Plain, dns: true, before: []int32{2, 2}, grown: []int32{0, 0}, goals: drain,
			maxStep: 300, step: 1, faults: 3, kinds: base, users: true,
		},
		{
			name: "plain pods, consent", replicas: Plain, headroom: Require, dns: true, before: []int32{2, 1, 1}, grown: []int32{0, 0, 0}, goals: three,
			maxStep: 500, step: 1, faults: 2, kinds: all, users: true,
		},
		{
			name: "plain pods, fence only", replicas: Plain, steering: OnDemand, dns: true, before: []int32{1, 2}, grown: []int32{0, 0}, goals: drain,
			step: 1, faults: 2, kinds: all, users: true, limits: true,
		},
		{
			name: "two drains", replicas: Owned, before: []int32{1, 1, 2}, grown: []int32{1, 1, 2}, goals: []Goal{Drain, Drain, Stay},
			demand: 2, faults: 1, kinds: all, users: true,
		},
		{
			name: "two drains, held", replicas: Owned, before: []int32{2, 1, 1}, grown: []int32{2, 1, 2}, goals: []Goal{Drain, Drain, Stay},
			demand: 2, faults: 1, kinds: base, users: true,
		},
		{
			name: "two drains of plain pods", replicas: Plain, before: []int32{1, 1, 1}, grown: []int32{0, 0, 0}, goals: []Goal{Drain, Drain, Stay},
			faults: 1, kinds: base, users: true,
		},
		{
			name: "both of two drain", replicas: Owned, before: []int32{1, 2}, grown: []int32{2, 2}, goals: []Goal{Drain, Drain},
			demand: 2, faults: 1, kinds: base, users: true,
		},
		{
			name: "move", replicas: Owned, dns: true, before: []int32{2, 1}, grown: []int32{0, 3}, goals: []Goal{Move, Stay},
			demand: 3, maxStep: 350, step: 1, faults: 2, kinds: base, users: true,
		},
		{
			name: "move a part", replicas: Owned, dns: true, before: []int32{3, 1}, grown: []int32{1, 3}, goals: []Goal{Move, Move},
			demand: 4, maxStep: 300, step: 1, faults: 2, kinds: base, users: true,
		},
		{
			name: "move, held", replicas: Owned, before: []int32{2, 1}, grown: []int32{1, 2}, goals: []Goal{Move, Move},
			demand: 3, faults: 2, kinds: roll | scale | operate | reconsult | lapse | lose | blind, users: true,
		},
		{
			name: "drain, held", replicas: Owned, dns: true, before: []int32{1, 2}, grown: []int32{0, 3}, goals: drain,
			demand: 3, faults: 2, kinds: roll | scale | operate | rescale | reconsult | lapse | lose, users: true,
		},
		{
			name: "drain, autoscaled", replicas: Owned, dns: true, before: []int32{2, 1}, grown: []int32{0, 3}, goals: drain, scalers: []Scaler{Autoscaled, Unscaled},
			demand: 3, maxStep: 500, step: 1, faults: 2, kinds: lapse | empty | rescale | blind | roll, users: true, minds: true,
		},
		{
			name: "drain, autoscaled everywhere", replicas: Owned, before: []int32{2, 1}, grown: []int32{0, 3}, goals: drain, scalers: []Scaler{Autoscaled, Autoscaled},
			demand: 3, maxStep: 500, faults: 2, kinds: base | rescale | lose, users: true,
		},
		{
			name: "drain, autoscaled, fence only", replicas: Owned, steering: OnDemand, before: []int32{2, 1, 1}, grown: []int32{0, 2, 2}, goals: three, scalers: []Scaler{Autoscaled, Autoscaled, Unscaled},
			demand: 3, step: 1, faults: 2, kinds: crash | lapse | empty | rescale | operate, users: true,
		},
		{
			name: "drain, operated", replicas: Owned, before: []int32{1, 2}, grown: []int32{0, 3}, goals: drain, scalers: []Scaler{Operated, Operated},
			demand: 3, faults: 1, kinds: base | rescale, users: true,
		},
		{
			name: "move, autoscaled", replicas: Owned, before: []int32{2, 1}, grown: []int32{0, 3}, goals: []Goal{Move, Move}, scalers: []Scaler{Autoscaled, Unscaled},
			demand: 3, faults: 2, kinds: base | rescale, users: true,
		},
		{
			name: "scale down", replicas: Owned, before: []int32{3, 2}, grown: []int32{1, 1}, goals: []Goal{Move, Move},
			demand: 2, step: 1, faults: 2, kinds: base | lose, users: true,
		},
		{
			name: "scale up", replicas: Owned, before: []int32{1, 1}, grown: []int32{2, 3}, goals: []Goal{Move, Move},
			demand: 2, step: 1, faults: 2, kinds: base | lose, users: true,
		},
		{
			name: "move over three", replicas: Owned, before: []int32{2, 1, 0}, grown: []int32{0, 1, 2}, goals: []Goal{Move, Stay, Move},
			demand: 3, faults: 1, kinds: base | reconsult, users: true,
		},
		{
			name: "move, fence only", replicas: Owned, steering: OnDemand, before: []int32{3, 1}, grown: []int32{1, 3}, goals: []Goal{Move, Move},
			demand: 4, step: 1, faults: 2, kinds: base | lose, users: true,
		},
		{
			name: "another decision", replicas: Owned, before: []int32{2, 1}, grown: []int32{0, 3}, regrown: []int32{1, 2}, goals: []Goal{Move, Move},
			demand: 3, maxStep: 350, faults: 1, kinds: base | lose, users: true,
		},
		{
			name: "another decision in a drain", replicas: Owned, before: []int32{1, 1, 1}, grown: []int32{0, 2, 1}, regrown: []int32{0, 1, 2},
			goals: three, demand: 3, faults: 1, kinds: base, users: true,
		},
	}
}

// sweep is every small start of one drain, with one fault.
func sweep() []*suite {
	var out []*suite
	for _, replicas := range []Ownership{Owned, Plain} {
		for _, steering := range []Steering{Always, OnDemand} {
			for n := range 64 {
				a, b, c := int32(n%4), int32(n/4%4), int32(n/16)
				if a+b+c == 0 || replicas == Plain && b+c == 0 {
					continue
				}
				u := &suite{
					name: "sweep", replicas: replicas, steering: steering, dns: n%2 == 1, limits: n%3 == 0, users: true,
					before: []int32{a, b, c}, grown: []int32{0, 3, c}, goals: []Goal{Drain, Stay, Stay},
					demand: min(a+b+c, 3+c), maxStep: 400, faults: 1, kinds: base,
				}
				if c == 0 {
					u.before, u.grown, u.goals = u.before[:2], u.grown[:2], u.goals[:2]
				}
				out = append(out, u)
			}
		}
	}
	return out
}
