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

// acceptScalers takes what autoscalers ask for as enough where the traffic does without the
// rest: the cluster's own share, and all that is asked of those that stay.
func (p *plan) acceptScalers() {
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
