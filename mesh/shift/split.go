// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

// rules writes the subsets first: weights that name a missing one would fail requests.
func (p *plan) rules() (Step, bool) {
	if p.weighted() && p.Rules.Level == Unwritten {
		return Step{Kind: Rules}, true
	}
	return Step{}, false
}

// shares computes the split at the end of all goals. A held cluster keeps what it has;
// the others share the rest in the proportion of their wishes: those of Before where
// everything goes back, else, because the old split no longer adds up, of Target.
func (p *plan) shares() []Permille {
	n := len(p.Clusters)
	want, raw := make([]Permille, n), make([]Permille, n)
	back, rest, takers := p.goesBack(), Whole, Permille(0)
	for i := range p.Clusters {
		c := &p.Clusters[i]
		switch {
		case p.leaving[i] && p.held[i]:
			want[i] = c.Wrote
			rest -= c.Wrote
		case p.leaving[i]:
		case back:
			raw[i] = c.Before.Share
		default:
			raw[i] = c.Target.Share
		}
		takers += raw[i]
	}
	if takers == 0 { // Only clusters that are held can take anything.
		rest = Whole
		for i := range p.Clusters {
			if p.held[i] {
				raw[i] = p.Clusters[i].Before.Share
				takers += raw[i]
			}
		}
	}
	if takers == 0 {
		for i := range p.Clusters {
			want[i] = p.Clusters[i].Wrote
		}
		return want
	}
	for i, share := range apportion(rest, raw) {
		if raw[i] > 0 {
			want[i] = share
		}
	}
	return want
}

// apportion divides total in the proportion of the weights, by largest remainders;
// the earlier index wins a tie. All weights zero give all zero.
func apportion(total Permille, weights []Permille) []Permille {
	var sum int64
	for _, w := range weights {
		sum += int64(w)
	}
	out := make([]Permille, len(weights))
	if sum == 0 {
		return out
	}
	left := total
	remainder := make([]int64, len(weights))
	for i, w := range weights {
		exact := int64(total) * int64(w)
		out[i] = Permille(exact / sum) //nolint:gosec // Not more than total.
		remainder[i] = exact % sum
		left -= out[i]
	}
	for ; left > 0; left-- {
		best := 0
		for i := range remainder {
			if remainder[i] > remainder[best] {
				best = i
			}
		}
		out[best]++
		remainder[best] = -1
	}
	return out
}

// leastMove is the least that is worth a write of its own while more is to come.
const leastMove Permille = 10

// split moves weight towards the end, as much at once as MaxStep, the pods that shall
// carry it and the clusters that stay allow.
func (p *plan) split() (Step, bool) {
	if !p.weighted() {
		return Step{}, false
	}
	if p.Weights.Level == Unwritten {
		return p.firstSplit()
	}
	n := len(p.Clusters)
	down, up := make([]Permille, n), make([]Permille, n)
	var falls, rises Permille
	serves, most := -1, Whole
	for i := range p.Clusters {
		c := &p.Clusters[i]
		if c.Wrote > p.want[i] {
			down[i] = c.Wrote - p.want[i]
			falls += down[i]
			if p.leaving[i] {
				most, serves = p.mayFall(), i
			}
			continue
		}
		up[i] = max(0, min(p.want[i], p.mayRise(i))-c.Wrote)
		rises += up[i]
	}
	if falls == 0 {
		return Step{}, false
	}
	move := min(falls, rises, most)
	if p.Limits.MaxStep > 0 {
		move = min(move, p.Limits.MaxStep)
	}
	if move < min(leastMove, falls) && (p.Limits.MaxStep == 0 || move < p.Limits.MaxStep) {
		p.blockRise(serves)
		return Step{}, false
	}
	return p.moved(move, apportion(move, down), apportion(move, up), serves)
}

// moved renders the split, unless a cluster that leaves would reach zero while DNS
// still names it: it leaves the answers first.
func (p *plan) moved(move Permille, down, up []Permille, serves int) (Step, bool) {
	for i := range p.Clusters {
		c := &p.Clusters[i]
		if p.leaving[i] && down[i] > 0 && c.Wrote == down[i] && c.DNS == Named {
			return p.leaveDNS(i)
		}
		if serves < 0 && up[i] == move {
			serves = i // The one that gets all is the one it is done for.
		}
	}
	step := Step{Kind: Split, Split: p.weights(func(i int) Permille { return p.Clusters[i].Wrote - down[i] + up[i] })}
	for i := range p.Clusters {
		if serves < 0 && p.Clusters[i].Goal != Stay && up[i] > 0 {
			serves = i
		}
	}
	if serves >= 0 {
		step.Cluster, step.Goal = p.Clusters[serves].Name, p.Clusters[serves].Goal
	}
	return step, true
}

// firstSplit makes the present split explicit, so that the next one has something to
// start from. Fenced clusters get nothing, unless all are.
func (p *plan) firstSplit() (Step, bool) {
	raw, open := make([]Permille, len(p.Clusters)), make([]Permille, len(p.Clusters))
	shut := true
	for i := range p.Clusters {
		c := &p.Clusters[i]
		raw[i] = p.want[i]
		if p.Record == Open {
			raw[i] = c.Before.Share
		}
		if raw[i] > 0 && c.Sight == Blind {
			p.block(Blocked{Code: CannotSee, Cluster: c.Name, Wakes: SightBack})
			return Step{}, true
		}
		if c.Entry == Free {
			open[i] = raw[i]
			shut = shut && raw[i] == 0
		}
	}
	if !shut {
		raw = open
	}
	now := apportion(Whole, raw)
	return Step{Kind: Split, Split: p.weights(func(i int) Permille { return now[i] })}, true
}

// blockRise says why no weight worth a write can move: nobody can take it.
func (p *plan) blockRise(serves int) {
	said := false
	for i := range p.Clusters {
		c := &p.Clusters[i]
		if p.want[i] <= c.Wrote || p.mayRise(i) >= p.want[i] {
			continue
		}
		said = true
		if c.Sight == Blind {
			p.block(Blocked{Code: CannotSee, Cluster: c.Name, Wakes: SightBack})
			continue
		}
		if p.rolling(i) {
			p.block(Blocked{Code: RolloutUnderWay, Cluster: c.Name, Wakes: RolloutDone})
			continue
		}
		p.block(Blocked{Code: NoCapacity, Cluster: c.Name, Wakes: p.podsWake(i), Have: p.serving(i), Need: p.needs(p.want[i])})
	}
	if said || serves < 0 {
		return
	}
	p.block(Blocked{
		Code: NoCapacity, Cluster: p.Clusters[serves].Name, Wakes: p.capacityWakes(),
		Have: int32(p.servingAll()), Need: p.Demand, //nolint:gosec // Less than Demand.
	})
}
