// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

// weighted reports whether weir steers this service by weights. A rule needs two
// destinations, so a service in one cluster has none.
func (p *plan) weighted() bool { return p.Steering == Always && len(p.Clusters) > 1 }

// subjects are the writes in use, in the order in which they are renewed.
func (p *plan) subjects() []Subject {
	if p.weighted() {
		return []Subject{RulesSubject, WeightsSubject, FenceSubject}
	}
	return []Subject{FenceSubject}
}

func (p *plan) proof(s Subject) *Proof {
	switch s {
	case RulesSubject:
		return &p.Rules
	case WeightsSubject:
		return &p.Weights
	default:
		return &p.Fence
	}
}

// waitingFor returns the write that is in flight without proof.
func (p *plan) waitingFor() Subject {
	for _, s := range p.subjects() {
		if p.level(s) == Waiting {
			return s
		}
	}
	return NoSubject
}

// level is a proof's level once its limit is counted in. Proven weights whose interval
// still spans other values contradict themselves: the worse is believed.
func (p *plan) level(s Subject) Level {
	q := p.proof(s)
	if q.Level == Waiting && q.Overdue {
		return Timed
	}
	if q.Level == Proven && s == WeightsSubject {
		for i := range p.Clusters {
			if c := &p.Clusters[i]; c.HeldLo != c.Wrote || c.HeldHi != c.Wrote {
				if q.Overdue {
					return Timed
				}
				return Waiting
			}
		}
	}
	return q.Level
}

// lapsedOrStale returns a written lease that no longer holds; lapsed ones first.
// Rules never change once proven, so theirs only matters until then.
func (p *plan) lapsedOrStale() Subject {
	stale := NoSubject
	for _, s := range p.subjects() {
		q := p.proof(s)
		switch {
		case q.Level == Unwritten, s == RulesSubject && p.level(s) != Waiting:
		case q.Lease == Lapsed:
			return s
		case q.Lease == Stale && stale == NoSubject && p.level(s) != Waiting:
			stale = s
		}
	}
	return stale
}

// proven holds everything else until what was written is proven and the leases are
// fresh. One write is in flight at most; a lapsed lease takes a new generation.
func (p *plan) proven() (Step, bool) {
	flying := p.waitingFor()
	if flying != NoSubject {
		if p.proof(flying).Lease == Lapsed {
			return p.renew(flying), true
		}
		p.blockUnproven(flying)
		return Step{}, true
	}
	old := p.lapsedOrStale()
	if old == NoSubject {
		return Step{}, false
	}
	if p.proof(old).Lease == Lapsed {
		return p.renew(old), true
	}
	p.block(Blocked{Code: ProofStale, Subject: subjectWord(old), Wakes: LeaseRenewed})
	return Step{}, true
}

func (p *plan) renew(s Subject) Step {
	step := Step{Kind: Renew, Renews: s}
	if s == WeightsSubject {
		step.Split = p.weights(func(i int) Permille { return p.Clusters[i].Wrote })
	}
	return step
}

func (p *plan) weights(share func(int) Permille) []Weight {
	split := make([]Weight, len(p.Clusters))
	for i := range p.Clusters {
		split[i] = Weight{Cluster: p.Clusters[i].Name, Share: share(i)}
	}
	return split
}

func (p *plan) blockUnproven(s Subject) {
	code := FenceUnproven
	switch s {
	case RulesSubject:
		code = RulesUnproven
	case WeightsSubject:
		code = WeightsUnproven
	default:
	}
	missing := p.proof(s).Missing
	if len(missing) == 0 {
		p.block(Blocked{Code: code, Wakes: ProofArrived})
	}
	for _, m := range missing {
		p.block(Blocked{Code: code, Cluster: m.Cluster, Subject: m.Name, Wakes: ProofArrived})
	}
}

func subjectWord(s Subject) string {
	switch s {
	case RulesSubject:
		return "rules"
	case WeightsSubject:
		return "weights"
	default:
		return "fence"
	}
}

// proofs says what a step rests on.
func (p *plan) proofs(step Step) Proofs {
	out := Proofs{Weights: p.level(WeightsSubject), Fence: p.level(FenceSubject)}
	if !p.weighted() {
		out.Weights = Unwritten
	}
	for i := range p.Clusters {
		c := &p.Clusters[i]
		takes := step.Kind == ReplicasDown && step.Cluster == c.Name
		ends := step.Kind == Done && p.leaving[i] && c.Ready > 0
		if takes || ends {
			out.Quiet = max(out.Quiet, p.calm(c))
		}
	}
	return out
}

// calm reports how it is known that nothing arrives at the fenced pods of c and that
// their work is done; NotAsked while it is not known.
func (p *plan) calm(c *Cluster) Evidence {
	quiet := c.Quiet == Twice || c.Quiet == Overdue
	work := c.InFlight == NoWork || c.InFlight == WorkOverdue
	switch {
	case !quiet || !work:
		return NotAsked
	case c.Quiet == Overdue || c.InFlight == WorkOverdue:
		return Limit
	}
	return Measured
}
