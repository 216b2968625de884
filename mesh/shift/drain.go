// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

// dnsOut takes clusters that leave out of the answers. Where weights move them, it was
// done before the last of the weight went.
func (p *plan) dnsOut() (Step, bool) {
	for i := range p.Clusters {
		c := &p.Clusters[i]
		if !p.leaving[i] || p.held[i] || c.DNS != Named || p.weighted() && c.Wrote > 0 {
			continue
		}
		if step, ok := p.leaveDNS(i); ok {
			return step, true
		}
	}
	return Step{}, false
}

// leaveDNS takes cluster i out of the answers, if they name another that serves. One that no answer names takes nothing
// over from one that is named.
func (p *plan) leaveDNS(i int) (Step, bool) {
	c := &p.Clusters[i]
	for j := range p.Clusters {
		stays := !p.leaving[j] || p.held[j]
		if j != i && stays && p.serving(j) > 0 && p.Clusters[j].DNS == Named {
			return Step{Kind: DNSOut, Goal: c.Goal, Cluster: c.Name}, true
		}
	}
	p.block(Blocked{Code: LastCluster, Cluster: c.Name, Wakes: p.capacityWakes()})
	return Step{}, false
}

// fence puts the fence on: all pods of a cluster that leaves, so that not even the
// reflex finds them, and those that are one too many in a cluster that stays, once
// every weight is where it shall be.
func (p *plan) fence() (Step, bool) {
	settled := p.settled()
	for i := range p.Clusters {
		c := &p.Clusters[i]
		var fenced int32
		var entry Entry
		switch {
		case p.leaving[i] && p.mayFence(i):
			fenced, entry = c.Ready, Shut
		case !p.leaving[i] && settled && c.Ready == c.Applied:
			fenced, entry = p.surplus(i), c.Entry
		default:
			continue
		}
		if c.Fenced >= fenced && c.Entry == entry {
			continue
		}
		if step, ok := p.fenceMore(i, fenced-c.Fenced, entry); ok {
			return step, true
		}
	}
	return Step{}, false
}

// settled reports whether every weight is where it shall be, and every cluster that
// stays is back with all it has.
func (p *plan) settled() bool {
	for i := range p.Clusters {
		c := &p.Clusters[i]
		if p.weighted() && c.Wrote != p.want[i] {
			return false
		}
		if !p.leaving[i] && (c.Ready < p.pods[i] || c.Entry == Shut || c.Fenced > p.surplus(i)) {
			return false
		}
	}
	return true
}

// mayFence reports whether cluster i, which leaves, is far enough for its fence.
func (p *plan) mayFence(i int) bool {
	c := &p.Clusters[i]
	return !p.held[i] && c.DNS != Named && (!p.weighted() || c.Wrote == 0)
}

// fenceMore fences up to more pods of cluster i, as far as those outside the fence
// carry the demand.
func (p *plan) fenceMore(i int, more int32, entry Entry) (Step, bool) {
	c := &p.Clusters[i]
	if c.Sight == Blind {
		p.block(Blocked{Code: CannotSee, Cluster: c.Name, Wakes: SightBack})
		return Step{}, false
	}
	for _, service := range c.Needed {
		p.block(Blocked{Code: SharedPods, Cluster: c.Name, Subject: service, Wakes: SharerReady})
	}
	if len(c.Needed) > 0 {
		return Step{}, false
	}
	if more > 0 && p.rolling(i) {
		p.block(Blocked{Code: RolloutUnderWay, Cluster: c.Name, Wakes: RolloutDone})
		return Step{}, false
	}
	if more > 0 {
		may := p.spare()
		if p.weighted() {
			may = min(may, p.serving(i)-p.needs(c.Wrote))
		}
		if may <= 0 {
			p.block(Blocked{
				Code: NoCapacity, Cluster: c.Name, Wakes: p.capacityWakes(),
				Have: int32(p.servingAll()), Need: p.Demand + 1, //nolint:gosec // Not more than Demand.
			})
			return Step{}, false
		}
		more = min(more, may)
		if p.Limits.FenceStep > 0 {
			more = min(more, p.Limits.FenceStep)
		}
	}
	return Step{Kind: Fence, Goal: c.Goal, Cluster: c.Name, Fenced: c.Fenced + more, Entry: entry}, true
}

// replicasDown takes fenced pods away, when nothing arrives at them any more and their
// work is done. Where a cluster that stays asks for more pods than are ready and than it
// shall have, those that are not ready go first: they serve nobody.
func (p *plan) replicasDown() (Step, bool) {
	if p.Replicas == Plain {
		return Step{}, false
	}
	settled := p.settled()
	for i := range p.Clusters {
		c := &p.Clusters[i]
		if c.Applied <= p.pods[i] {
			continue
		}
		to, ok := p.downTo(i, settled)
		switch {
		case !ok || !p.mayTake(i, to):
		case p.Fence.Level == Unwritten: // Also that nothing is fenced is proven before a pod goes.
			return p.renew(FenceSubject), true
		default:
			return Step{Kind: ReplicasDown, Goal: c.Goal, Cluster: c.Name, Replicas: to}, true
		}
	}
	return Step{}, false
}

// downTo is how far the replicas of cluster i could go down now, if nothing stood before it.
func (p *plan) downTo(i int, settled bool) (int32, bool) {
	c := &p.Clusters[i]
	switch {
	case p.leaving[i]:
		return c.Floor, p.mayFence(i) && c.Entry == Shut && c.Fenced == c.Ready
	case !settled || c.Entry == Shut:
		return 0, false
	case c.Ready < c.Applied:
		return max(p.pods[i], c.Ready, c.Floor), true
	}
	return max(p.pods[i], c.Applied-c.Fenced, c.Floor), c.Fenced > 0 && c.Ready == c.Applied
}

// mayTake asks every gate that stands before a pod's end.
func (p *plan) mayTake(i int, to int32) bool {
	c := &p.Clusters[i]
	switch {
	case c.Sight == Blind:
		p.block(Blocked{Code: CannotSee, Cluster: c.Name, Wakes: SightBack})
	case c.Hold == RollingOut:
		p.block(Blocked{Code: RolloutUnderWay, Cluster: c.Name, Wakes: RolloutDone})
	case c.Scaler == Operated && c.Applied > 0:
		p.block(Blocked{Code: AutoscalerOwns, Cluster: c.Name, Wakes: AutoscalerGone})
	case to >= c.Applied:
		p.block(Blocked{Code: HeldByFloor, Cluster: c.Name, Wakes: FloorLowered, Have: c.Floor, Need: p.pods[i]})
	case !p.leaving[i] && to >= c.Ready:
		return p.goingDown(i, to)
	case p.calm(c) == NotAsked || to == 0 && c.DNS == Cached:
		p.blockCalm(c, to == 0)
	default:
		return p.goingDown(i, to)
	}
	return false
}

// blockCalm names what still comes to, or happens in, the pods that shall go.
func (p *plan) blockCalm(c *Cluster, last bool) {
	if c.Quiet != Twice && c.Quiet != Overdue {
		p.block(Blocked{Code: NotQuiet, Cluster: c.Name, Wakes: WentQuiet})
	}
	if c.InFlight != NoWork && c.InFlight != WorkOverdue {
		p.block(Blocked{Code: WorkInFlight, Cluster: c.Name, Wakes: WorkDone})
	}
	if last && c.DNS == Cached {
		p.block(Blocked{Code: StillCached, Cluster: c.Name, Wakes: CacheExpired})
	}
}

// sayWhatIsMissing names what the end of each goal still waits for, where no stage has
// named it yet.
func (p *plan) sayWhatIsMissing() {
	said := make(map[string]bool)
	for _, b := range p.why {
		said[b.Cluster] = said[b.Cluster] || !b.Note
	}
	for i := range p.Clusters {
		c := &p.Clusters[i]
		switch {
		case said[c.Name] || p.met(i):
		case c.Sight == Blind:
			p.block(Blocked{Code: CannotSee, Cluster: c.Name, Wakes: SightBack})
		case p.Replicas == Owned && c.Ready > c.Applied:
			p.block(Blocked{Code: PodsLeaving, Cluster: c.Name, Wakes: PodsGone, Have: c.Ready, Need: c.Applied})
		case p.leaving[i]:
			p.sayLeaving(i)
		case p.Replicas == Owned && c.Ready < c.Applied:
			p.block(Blocked{Code: NotReady, Cluster: c.Name, Wakes: ReplicasReady, Have: c.Ready, Need: c.Applied})
		}
	}
}

// sayLeaving names what the end of a fenced cluster waits for. One that is not fenced yet
// waits for others, and it is said there.
func (p *plan) sayLeaving(i int) {
	c := &p.Clusters[i]
	switch {
	case c.Entry != Shut || c.Fenced < c.Ready:
	case c.Ready > 0:
		p.blockCalm(c, true)
	case c.DNS == Cached:
		p.block(Blocked{Code: StillCached, Cluster: c.Name, Wakes: CacheExpired})
	}
}
