// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

// scaled reports whether an autoscaler sets the replicas of cluster i now, so that weir must
// not raise them.
func (p *plan) scaled(i int) bool {
	c := &p.Clusters[i]
	return p.Replicas == Owned && (c.Scaler == Autoscaled && c.Applied > 0 || c.Scaler == Operated)
}

// leaveToScaler leaves to an autoscaler what it asks for beyond what cluster i shall have. Only
// a drain of the cluster takes it away.
func (p *plan) leaveToScaler(i int) {
	c := &p.Clusters[i]
	if !p.scaled(i) || c.Goal == Drain || c.Applied <= p.pods[i] {
		return
	}
	if c.Goal == Move {
		p.block(Blocked{Code: AutoscalerOwns, Cluster: c.Name, Wakes: AutoscalerGone, Note: true, Have: c.Applied, Need: p.pods[i]})
	}
	p.pods[i] = c.Applied
}

// acceptSettled takes what autoscalers ask for as enough where weights are as they shall be and
// nothing leaves any more: their own traffic told them how many they need.
func (p *plan) acceptSettled() {
	if !p.weighted() || p.Weights.Level == Unwritten {
		return
	}
	for i := range p.Clusters {
		if p.leaving[i] && !p.metLeaving(i) {
			return
		}
	}
	fell := false
	for i := range p.Clusters {
		if c := &p.Clusters[i]; p.scaled(i) && !p.leaving[i] && c.Wrote == p.want[i] && c.Applied < p.pods[i] {
			p.pods[i], fell = c.Applied, true
		}
	}
	if fell {
		p.keepSpare()
	}
}

// keepSpare leaves as many replicas where they are, beyond what was decided, as the demand needs
// besides those that autoscalers ask for: until it is found to have fallen, too.
func (p *plan) keepSpare() {
	lacks := int64(max(p.Demand, p.MinReady))
	for i := range p.Clusters {
		if !p.leaving[i] {
			lacks -= int64(p.pods[i])
		}
	}
	for i := range p.Clusters {
		c := &p.Clusters[i]
		if spare := int64(c.Applied - p.pods[i]); !p.leaving[i] && spare > 0 && lacks > 0 {
			keep := min(spare, lacks)
			p.pods[i] += int32(keep) //nolint:gosec // Not more than Applied.
			lacks -= keep
		}
	}
}

// acceptScalers takes what autoscalers ask for as enough where the traffic does without the
// rest: the cluster's own share, and all that is asked of those that stay.
func (p *plan) acceptScalers() {
	p.acceptSettled()
	var asked int64
	for i := range p.Clusters {
		switch {
		case p.leaving[i] && !p.held[i]:
		case p.leaving[i], p.scaled(i):
			asked += int64(p.Clusters[i].Applied)
		default:
			asked += int64(p.pods[i])
		}
	}
	if asked < int64(p.Demand) {
		return
	}
	for i := range p.Clusters {
		c := &p.Clusters[i]
		if p.scaled(i) && !p.leaving[i] && (!p.weighted() || p.needs(p.want[i]) <= c.Applied) {
			p.pods[i] = c.Applied
		}
	}
}

// lacks is how many replicas an autoscaler has to ask for in cluster i, where it asks for too few: no more than the traffic
// needs, whatever was decided.
func (p *plan) lacks(i int) int32 {
	if !p.weighted() {
		return p.pods[i]
	}
	return min(p.pods[i], max(p.needs(p.want[i]), p.Clusters[i].Applied+1))
}
