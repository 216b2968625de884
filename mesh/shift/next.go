// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"cmp"
	"slices"
)

// Next says what to do now, and everything that holds a goal up. The State must be
// valid ([Validate]); Next never panics on one, changes nothing in it, and does not
// depend on the order of its clusters.
//
// Where a step is given besides reasons, it serves goals that those do not hold up.
// A Wait always comes with at least one reason that is not a note.
func Next(s State) (Step, []Blocked) {
	p := newPlan(s)
	step := p.decide()
	step.Finished = p.finishedNames()
	step.Proofs = p.proofs(step)
	slices.SortStableFunc(p.why, func(a, b Blocked) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Subject, b.Subject))
	})
	return step, p.why
}

// plan is one decision in the making: the State, its clusters sorted by name, with
// what follows from the goals.
type plan struct {
	State

	leaving []bool     // The cluster shall end without traffic: drained, or without a pod.
	held    []bool     // Its leaving may not go on now.
	consent bool       // Some cluster is held for consent alone.
	pods    []int32    // Replicas at the end; what is there for plain services.
	want    []Permille // Shares at the end.
	why     []Blocked
}

func newPlan(s State) *plan {
	n := len(s.Clusters)
	p := &plan{State: s, leaving: make([]bool, n), held: make([]bool, n), pods: make([]int32, n)}
	p.Clusters = slices.Clone(s.Clusters)
	slices.SortFunc(p.Clusters, func(a, b Cluster) int { return cmp.Compare(a.Name, b.Name) })
	back := p.goesBack()
	for i, c := range p.Clusters {
		switch {
		case p.Replicas == Plain:
			p.pods[i] = c.Ready
		case back:
			p.pods[i] = c.Before.Replicas
		default:
			p.pods[i] = c.Target.Replicas
		}
		p.leaveToScaler(i)
		empties := p.Replicas == Owned && p.pods[i] == 0 && (c.Goal == Move || c.Applied > 0 || c.Ready > 0)
		p.leaving[i] = c.Goal == Drain || empties
		if p.Fence.Level == Unwritten && (c.Entry == Shut || c.Fenced > 0) {
			p.Fence = Proof{Level: Waiting, Lease: Lapsed} // A fence that nobody remembers is proven anew.
		}
	}
	p.admit()
	p.want = p.shares()
	p.acceptScalers()
	return p
}

// decide goes through the stages in order and takes the first step that one offers.
// Giving stands before taking, so that a cluster on its way back never waits for one
// that leaves.
func (p *plan) decide() Step {
	if p.Foreign != "" {
		p.block(Blocked{Code: Foreign, Subject: p.Foreign, Wakes: ForeignGone})
		return Step{}
	}
	if p.outdated() {
		p.block(Blocked{Code: DecisionAwaited, Wakes: DecisionMade})
		return Step{}
	}
	if p.atRest() {
		return Step{Kind: Done}
	}
	if p.consent && !p.busy() {
		return Step{}
	}
	for _, stage := range []func() (Step, bool){
		p.replicasUp, p.proven, p.rules, // Capacity, then the ground to stand on.
		p.unfence, p.dnsIn, p.split, // Give back, then move weights.
		p.dnsOut, p.fence, p.replicasDown, // Take away.
		p.finish,
	} {
		if step, ok := stage(); ok {
			return step
		}
	}
	return Step{}
}

// outdated reports whether nobody can say where the replicas shall be. What goes back to
// its start needs no decision.
func (p *plan) outdated() bool {
	return p.Replicas == Owned && p.Decision == Outdated && !p.goesBack()
}

// atRest reports whether no goal is asked for and nothing is left to do. A service at
// rest needs no lease, and a pod that crashes there is the reflex's to bear.
func (p *plan) atRest() bool {
	if p.Record == Open || p.waitingFor() != NoSubject || p.weighted() && p.Weights.Level == Unwritten {
		return false
	}
	for i := range p.Clusters {
		c := p.Clusters[i]
		if c.Goal != Stay || !p.placed(i) || p.Replicas == Owned && c.Applied != p.pods[i] {
			return false
		}
	}
	return true
}

// finish ends a move: Done while a cluster is out of service, because its record is
// needed to come back; else the record is released first.
func (p *plan) finish() (Step, bool) {
	if len(p.finished()) < len(p.Clusters) {
		p.sayWhatIsMissing()
		return Step{}, false
	}
	drained := slices.ContainsFunc(p.Clusters, func(c Cluster) bool { return c.Goal == Drain })
	if p.Record == Open && !drained {
		return Step{Kind: Release}, true
	}
	return Step{Kind: Done}, true
}

// finished lists the clusters whose goal is met and proven.
func (p *plan) finished() []int {
	if p.outdated() || p.waitingFor() != NoSubject || p.lapsedOrStale() != NoSubject || p.weighted() && p.Weights.Level == Unwritten {
		return nil
	}
	var done []int
	for i := range p.Clusters {
		if p.met(i) {
			done = append(done, i)
		}
	}
	return done
}

func (p *plan) finishedNames() []string {
	var names []string
	for _, i := range p.finished() {
		if p.Clusters[i].Goal != Stay {
			names = append(names, p.Clusters[i].Name)
		}
	}
	return names
}

// met reports whether cluster i stands where its goal wants it.
func (p *plan) met(i int) bool {
	c := &p.Clusters[i]
	if !p.placed(i) {
		return false
	}
	return p.leaving[i] || p.Replicas == Plain || c.Applied == p.pods[i] && c.Ready == p.pods[i]
}

// placed reports whether the traffic of cluster i is where its goal wants it.
func (p *plan) placed(i int) bool {
	c := &p.Clusters[i]
	if p.weighted() && c.Wrote != p.want[i] {
		return false
	}
	if p.leaving[i] {
		return p.metLeaving(i)
	}
	if c.Entry != Free || c.Fenced > 0 {
		return false
	}
	return c.DNS == Named || c.DNS == Unused || c.Ready == 0
}

func (p *plan) metLeaving(i int) bool {
	c := &p.Clusters[i]
	if p.weighted() && c.Wrote != 0 || c.Entry != Shut || c.Fenced < c.Ready {
		return false
	}
	if c.DNS != Expired && c.DNS != Unused || c.Sight == Blind {
		return false
	}
	if p.Replicas == Owned {
		return c.Applied == 0 && c.Ready == 0
	}
	return c.Ready == 0 || !p.held[i] && p.calm(c) != NotAsked
}

func (p *plan) block(b Blocked) { p.why = append(p.why, b) }
