// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import "slices"

// Spares reports whether a service can do without the pods that another service, which is behind the same ones, would
// fence by a step. The fence is on the pod, so it takes it from both: nobody may put it on before everybody would. What
// is asked is what the service asks of itself before its own fence, save its own room for it; so two that are in the
// same place never wait for each other. A service that has not begun to leave, or may not, spares nothing.
func Spares(s State, step Step) bool {
	p := newPlan(s)
	i := slices.IndexFunc(p.Clusters, func(c Cluster) bool { return c.Name == step.Cluster })
	switch {
	case i < 0:
		return false
	case p.leaving[i] && !p.held[i] && p.Clusters[i].Entry == Shut:
		return true // It fences them itself.
	case p.Foreign != "" || p.outdated() || p.weighted() && !p.weightsHold():
		return false
	case p.leaving[i]:
		return p.mayFence(i)
	}
	return step.Entry == Free && p.settled() && step.Fenced <= p.surplus(i)
}

// weightsHold reports whether no proxy uses anything older than the split that was written last.
func (p *plan) weightsHold() bool {
	return p.level(RulesSubject) != Waiting && p.level(WeightsSubject) != Waiting &&
		p.Weights.Level != Unwritten && p.Weights.Lease == Fresh
}
