// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

// replicasUp asks for the pods that shall carry the traffic. It only ever adds, so it
// needs no proof.
func (p *plan) replicasUp() (Step, bool) {
	if p.Replicas == Plain {
		return Step{}, false
	}
	for i := range p.Clusters {
		c := &p.Clusters[i]
		if c.Applied >= p.pods[i] || p.leaving[i] {
			continue
		}
		if c.Sight == Blind {
			p.block(Blocked{Code: CannotSee, Cluster: c.Name, Wakes: SightBack})
			continue
		}
		if p.scaled(i) {
			p.block(Blocked{Code: AutoscalerOwns, Cluster: c.Name, Wakes: AutoscalerRaised, Have: c.Applied, Need: p.lacks(i)})
			continue
		}
		return Step{Kind: ReplicasUp, Goal: c.Goal, Cluster: c.Name, Replicas: p.pods[i]}, true
	}
	return Step{}, false
}

// unfence gives fenced pods back once all of them are there and ready: weights must
// find the cluster as it was. Pods that are one too many keep their fence.
func (p *plan) unfence() (Step, bool) {
	for i := range p.Clusters {
		c := &p.Clusters[i]
		keep := p.surplus(i)
		if p.leaving[i] || c.Entry == Free && c.Fenced <= keep {
			continue
		}
		if c.Sight == Blind {
			p.block(Blocked{Code: CannotSee, Cluster: c.Name, Wakes: SightBack})
			continue
		}
		need := p.pods[i]
		switch {
		case p.Replicas == Plain:
			need = min(1, int32(p.want[i]))
		case p.scaled(i): // More do not come without traffic, and weights rise only as far as these carry.
			need = min(need, c.Applied)
		}
		if c.Ready < need {
			p.block(Blocked{Code: NotReady, Cluster: c.Name, Wakes: p.podsWake(i), Have: c.Ready, Need: need})
			continue
		}
		return Step{Kind: Unfence, Goal: c.Goal, Cluster: c.Name, Fenced: min(c.Fenced, keep), Entry: Free}, true
	}
	return Step{}, false
}

// surplus is how many ready pods of a cluster that stays are more than it shall have.
func (p *plan) surplus(i int) int32 {
	c := &p.Clusters[i]
	if p.Replicas == Plain || p.leaving[i] || c.Ready <= p.pods[i] {
		return 0
	}
	return c.Ready - p.pods[i]
}

// dnsIn puts a cluster that serves again back into the answers.
func (p *plan) dnsIn() (Step, bool) {
	for i := range p.Clusters {
		c := &p.Clusters[i]
		out := c.DNS == Cached || c.DNS == Expired
		if out && !p.leaving[i] && c.Entry == Free && p.serving(i) > 0 {
			return Step{Kind: DNSIn, Goal: c.Goal, Cluster: c.Name}, true
		}
	}
	return Step{}, false
}
