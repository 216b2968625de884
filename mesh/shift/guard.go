// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

// serving is how many pods of cluster i are ready, outside the fence, and seen. Pods that
// were told to go serve for a moment yet, and nothing is built on them.
func (p *plan) serving(i int) int32 {
	c := &p.Clusters[i]
	if c.Sight == Blind {
		return 0
	}
	if p.Replicas == Owned {
		return min(c.Ready-c.Fenced, c.Applied)
	}
	return c.Ready - c.Fenced
}

// servingAll is how many pods serve in all clusters.
func (p *plan) servingAll() int64 {
	var sum int64
	for i := range p.Clusters {
		sum += int64(p.serving(i))
	}
	return sum
}

// spare is how many pods could be fenced anywhere with the others still carrying the
// demand. A step of the fence is a fall of weight by other means.
func (p *plan) spare() int32 { return int32(min(p.servingAll()-int64(p.Demand), 1<<30)) } //nolint:gosec // Bounded by Validate.

// carries is the largest share that so many pods carry, rounded up to the permille
// so that shares in the proportion of replicas fit exactly.
func (p *plan) carries(pods int32) Permille {
	switch {
	case pods <= 0:
		return 0
	case p.Demand <= pods:
		return Whole
	}
	return Permille((int64(pods)*int64(Whole) + int64(p.Demand) - 1) / int64(p.Demand)) //nolint:gosec // Not more than Whole.
}

// needs is how many pods a share takes: the fewest that carry it.
func (p *plan) needs(share Permille) int32 {
	if share <= 0 {
		return 0
	}
	return int32(int64(share-1)*int64(p.Demand)/int64(Whole)) + 1 //nolint:gosec // Not more than Demand.
}

// mayRise is the highest share that cluster i may get now.
func (p *plan) mayRise(i int) Permille {
	c := &p.Clusters[i]
	if c.Entry == Shut || c.Sight == Blind || p.rolling(i) {
		return 0
	}
	return p.carries(p.serving(i))
}

// rolling reports whether the pods of cluster i are being replaced. Of plain services that
// is their owner's affair.
func (p *plan) rolling(i int) bool { return p.Replicas == Owned && p.Clusters[i].Hold == RollingOut }

// mayFall is how much weight the clusters that stay can still take over from those that
// leave. It counts what spills from a cluster that lost its pods, which a look at each
// riser alone would miss.
func (p *plan) mayFall() Permille {
	var room, taken, rounding int64
	for i := range p.Clusters {
		if p.leaving[i] && !p.held[i] {
			continue
		}
		room += int64(p.serving(i))
		taken += int64(p.Clusters[i].Wrote)
		rounding++
	}
	if int64(p.Demand) <= room {
		return Whole
	}
	most := (room*int64(Whole) + rounding*int64(p.Demand) - 1) / int64(p.Demand)
	if room == 0 {
		most = 0
	}
	return Permille(max(0, min(most-taken, int64(Whole))))
}

// goingDown reports whether those that stay can do without the pods of cluster i, and says
// why not. The pods that go are fenced, so what serves now is what serves after; that
// some other cluster serves at all was asked when the leaving was admitted.
func (p *plan) goingDown(i int, to int32) bool {
	c := &p.Clusters[i]
	serving, ready := p.servingAll(), int64(0)
	for j := range p.Clusters {
		if p.Clusters[j].Sight == Seen {
			ready += int64(p.Clusters[j].Ready)
		}
	}
	ready -= int64(max(0, c.Ready-to))
	b := Blocked{Cluster: c.Name, Wakes: p.capacityWakes()}
	switch {
	case ready < int64(p.MinReady):
		b.Code, b.Have, b.Need = DisruptionBudget, int32(ready), p.MinReady //nolint:gosec // Less than MinReady.
	case serving < int64(p.Demand):
		b.Code, b.Have, b.Need = NoCapacity, int32(serving), p.Demand //nolint:gosec // Less than Demand.
	default:
		return true
	}
	p.block(b)
	return false
}

// capacityWakes is the event that brings capacity: pods that are expected become ready,
// else a cluster can be seen again, else a drain is undone.
func (p *plan) capacityWakes() Event {
	wakes := DrainEnded
	for i := range p.Clusters {
		c := &p.Clusters[i]
		expected := max(c.Applied, p.pods[i])
		if p.leaving[i] && !p.held[i] {
			expected = c.Ready // Whatever comes up there does not serve.
		}
		switch {
		case c.Sight == Blind:
			wakes = SightBack
		case p.scaled(i) && !p.leaving[i] && c.Applied < p.pods[i]:
			return AutoscalerRaised // Pods that are there beyond what is asked for are on their way out.
		case c.Ready < expected:
			return p.podsWake(i)
		}
	}
	if wakes == DrainEnded && !p.someHeld() {
		return ReplicasReady
	}
	return wakes
}

// podsWake is the event that brings the pods which cluster i lacks: those that were asked
// for become ready, or weir may ask again.
func (p *plan) podsWake(i int) Event {
	if c := &p.Clusters[i]; p.scaled(i) && c.Ready >= c.Applied {
		return AutoscalerRaised
	}
	return ReplicasReady
}

// someHeld reports whether a drain waits for an earlier one.
func (p *plan) someHeld() bool {
	for i := range p.held {
		if p.held[i] {
			return true
		}
	}
	return false
}
