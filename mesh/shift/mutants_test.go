// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"slices"
	"testing"
)

// mutant is Next with one promise forgotten: it is lied to about a fact, or its answer is
// bent. No hook in the product is needed for that.
type mutant struct {
	name   string
	breaks Invariant // Ends stands for liveness too.
	lie    func(*State)
	bend   func(State, Step, []Blocked) (Step, []Blocked)
}

func (m *mutant) next(s State) (Step, []Blocked) {
	told := s
	told.Clusters = slices.Clone(s.Clusters)
	if m.lie != nil {
		m.lie(&told)
	}
	step, why := Next(told)
	if m.bend != nil {
		return m.bend(s, step, why)
	}
	return step, why
}

// each changes every cluster for which the condition holds.
func each(when func(*Cluster) bool, change func(*Cluster)) func(*State) {
	return func(s *State) {
		for i := range s.Clusters {
			if when(&s.Clusters[i]) {
				change(&s.Clusters[i])
			}
		}
	}
}

func whichever(*Cluster) bool        { return true }
func drains(c *Cluster) bool         { return c.Goal == Drain }
func stays(c *Cluster) bool          { return c.Goal == Stay }
func comesBack(c *Cluster) bool      { return c.Goal == Abort || c.Goal == Undrain }
func believe(q *Proof)               { q.Lease = Fresh; q.Level = max(q.Level, q.Level/Waiting*Proven) }
func written(s *State) bool          { return s.Weights.Level != Unwritten }
func heldAsWritten(c *Cluster)       { c.HeldLo, c.HeldHi = c.Wrote, c.Wrote }
func hasStep(k Kind) func(Step) bool { return func(s Step) bool { return s.Kind == k } }

// bendWhen replaces the step where the condition holds.
func bendWhen(when func(Step) bool, change func(State, *Step)) func(State, Step, []Blocked) (Step, []Blocked) {
	return func(s State, step Step, why []Blocked) (Step, []Blocked) {
		if when(step) {
			step.Split = slices.Clone(step.Split)
			change(s, &step)
		}
		return step, why
	}
}

// safetyMutants each break one of the first six invariants, or the rule of one write.
func safetyMutants() []mutant {
	return []mutant{
		{
			name: "pods go before weights", breaks: Fits,
			lie: each(drains, func(c *Cluster) { c.Wrote, c.HeldLo, c.HeldHi = 0, 0, 0 }),
		},
		{
			name: "fenced pods go while the reflex finds the rest", breaks: Fits,
			lie: each(func(c *Cluster) bool { return drains(c) && c.Fenced > 0 }, func(c *Cluster) { c.Ready = c.Fenced }),
			bend: bendWhen(hasStep(ReplicasDown), func(s State, step *Step) {
				for _, c := range s.Clusters {
					if c.Name == step.Cluster {
						step.Replicas = max(step.Replicas, c.Applied-c.Fenced)
					}
				}
			}),
		},
		{
			name: "weights count as proven once written", breaks: Fits,
			lie: func(s *State) {
				if written(s) {
					s.Weights.Level, s.Weights.Lease = Proven, Fresh
					each(whichever, heldAsWritten)(s)
				}
			},
		},
		{name: "the fence counts as proven once written", breaks: Emptied, lie: func(s *State) { believe(&s.Fence) }},
		{name: "lapsed leases count", breaks: Emptied, lie: func(s *State) { s.Weights.Lease, s.Fence.Lease = Fresh, Fresh }},
		{name: "nobody listens for quiet", breaks: Emptied, lie: each(whichever, func(c *Cluster) { c.Quiet = Twice })},
		{name: "one scrape is quiet enough", breaks: Emptied, lie: each(func(c *Cluster) bool { return c.Quiet == Once }, func(c *Cluster) { c.Quiet = Twice })},
		{name: "work in flight is cut", breaks: Emptied, lie: each(whichever, func(c *Cluster) { c.InFlight = NoWork })},
		{name: "DNS caches are forgotten", breaks: Emptied, lie: each(func(c *Cluster) bool { return c.DNS == Cached }, func(c *Cluster) { c.DNS = Expired })},
		{
			name: "pods go unfenced", breaks: Emptied,
			lie: each(func(c *Cluster) bool { return drains(c) && c.Wrote == 0 && c.DNS != Named }, func(c *Cluster) { c.Fenced, c.Entry = c.Ready, Shut }),
		},
		{name: "weight rises on pods asked for", breaks: Carried, lie: each(stays, func(c *Cluster) { c.Ready = max(c.Ready, c.Applied) })},
		{name: "the others can always take it", breaks: Carried, lie: func(s *State) { s.Demand = 0 }},
		{
			name: "all is fenced at once", breaks: Carried,
			bend: bendWhen(hasStep(Fence), func(s State, step *Step) {
				for _, c := range s.Clusters {
					if c.Name == step.Cluster {
						step.Fenced = c.Ready
					}
				}
			}),
		},
		{
			name: "clusters at zero drop out of the rule", breaks: Routed,
			bend: bendWhen(hasStep(Split), func(_ State, step *Step) {
				step.Split = slices.DeleteFunc(step.Split, func(w Weight) bool { return w.Share == 0 })
			}),
		},
		{
			name: "all weights are zero", breaks: Routed,
			bend: bendWhen(hasStep(Split), func(_ State, step *Step) {
				for i := range step.Split {
					if step.Split[i].Share == Whole {
						step.Split[i].Share = 0
					}
				}
			}),
		},
		{name: "the blind get weight", breaks: Routed, lie: each(whichever, func(c *Cluster) { c.Sight = Seen })},
		{name: "budgets are ignored", breaks: Kept, lie: func(s *State) { s.MinReady = 0 }},
		{
			name: "an empty cluster counts as one that serves", breaks: Kept,
			lie: each(func(c *Cluster) bool { return stays(c) && c.Ready == 0 }, func(c *Cluster) { c.Ready = 3 }),
		},
		{name: "the fence comes off before the pods are back", breaks: Backwards, lie: each(comesBack, func(c *Cluster) { c.Ready = max(c.Ready, c.Before.Replicas) })},
		{
			name: "weights come back before the fence is off", breaks: Backwards,
			lie: each(func(c *Cluster) bool { return comesBack(c) && c.Ready >= c.Applied }, func(c *Cluster) { c.Fenced, c.Entry = 0, Free }),
		},
		{
			name: "an abort goes on taking away", breaks: Backwards,
			lie: each(func(c *Cluster) bool { return c.Goal == Abort }, func(c *Cluster) { c.Goal, c.Target = Drain, Place{} }),
		},
		{
			name: "weights do not wait for rules", breaks: OneWrite,
			lie: func(s *State) { believe(&s.Rules) },
		},
		{name: "pods go in mid-rollout", breaks: Emptied, lie: each(whichever, func(c *Cluster) { c.Hold = Unheld })},
		{name: "weight rises in mid-rollout", breaks: Carried, lie: each(whichever, func(c *Cluster) { c.Hold = Unheld })},
		{name: "two set one number", breaks: Kept, lie: each(whichever, func(c *Cluster) { c.Scaler = Unscaled })},
		{name: "limits that somebody keeps are lowered", breaks: Kept, lie: each(drains, func(c *Cluster) { c.Scaler = min(c.Scaler, Autoscaled) })},
		{
			name: "a part goes unfenced", breaks: Emptied,
			bend: func(s State, step Step, why []Blocked) (Step, []Blocked) {
				for _, c := range s.Clusters {
					if step.Kind == Fence && c.Name == step.Cluster && c.Target.Replicas > 0 && c.Goal == Move {
						return Step{Kind: ReplicasDown, Cluster: c.Name, Replicas: c.Target.Replicas}, why
					}
				}
				return step, why
			},
		},
		{name: "somebody else writes too", breaks: OneWrite, lie: func(s *State) { s.Foreign = "" }},
		{
			name: "the next of the fence does not wait for the last", breaks: OneWrite,
			bend: func(s State, step Step, why []Blocked) (Step, []Blocked) {
				if c := s.Clusters[0]; step.Kind == Wait && c.Goal == Drain && s.Fence.Level == Waiting && c.Fenced < c.Ready {
					return Step{Kind: Fence, Cluster: c.Name, Fenced: c.Fenced + 1, Entry: Shut}, why
				}
				return step, why
			},
		},
	}
}

// livenessMutants never end, or say so too early.
func livenessMutants() []mutant {
	return []mutant{
		{
			name: "always Blocked", breaks: Ends,
			bend: func(State, Step, []Blocked) (Step, []Blocked) {
				return Step{}, []Blocked{{Code: Foreign, Wakes: ForeignGone}}
			},
		},
		{
			name: "always Blocked, with a likely reason", breaks: Ends,
			bend: func(s State, _ Step, _ []Blocked) (Step, []Blocked) {
				return Step{}, []Blocked{{Code: NotReady, Cluster: s.Clusters[0].Name, Wakes: ReplicasReady}}
			},
		},
		{
			name: "waits in silence", breaks: Ends,
			bend: func(_ State, step Step, why []Blocked) (Step, []Blocked) {
				if step.Kind == Wait {
					return step, nil
				}
				return step, why
			},
		},
		{
			name: "names the wrong event", breaks: Ends,
			bend: func(_ State, step Step, why []Blocked) (Step, []Blocked) {
				for i := range why {
					if why[i].Code == NotQuiet {
						why[i].Wakes = FloorLowered
					}
				}
				return step, why
			},
		},
		{
			name: "never renews", breaks: Ends,
			bend: func(_ State, step Step, why []Blocked) (Step, []Blocked) {
				if step.Kind == Renew {
					return Step{}, []Blocked{{Code: WeightsUnproven, Wakes: ProofArrived}}
				}
				return step, why
			},
		},
		{
			name: "fences and unfences", breaks: Ends,
			bend: func(s State, step Step, why []Blocked) (Step, []Blocked) {
				if c := s.Clusters[0]; step.Kind == Wait && c.Goal == Drain && c.Fenced > 0 && s.Fence.Level == Proven {
					return Step{Kind: Unfence, Cluster: c.Name}, why
				}
				return step, why
			},
		},
		{
			name: "Done while requests arrive", breaks: Ends,
			bend: func(_ State, step Step, why []Blocked) (Step, []Blocked) {
				if step.Kind == Wait && slices.ContainsFunc(why, func(b Blocked) bool { return b.Code == NotQuiet }) {
					return Step{Kind: Done}, nil
				}
				return step, why
			},
		},
		{name: "an outdated decision counts", breaks: Ends, lie: func(s *State) { s.Decision = Current }},
		{
			name: "Done at weight zero", breaks: Ends,
			bend: func(s State, step Step, why []Blocked) (Step, []Blocked) {
				if c := s.Clusters[0]; c.Goal == Drain && c.Wrote == 0 && s.Weights.Level == Proven {
					return Step{Kind: Done}, nil
				}
				return step, why
			},
		},
	}
}

// hunting are the small spaces in which mutants are looked for.
func hunting() []*suite {
	drain := []Goal{Drain, Stay}
	return []*suite{
		{
			name: "owned", replicas: Owned, dns: true, before: []int32{2, 1}, grown: []int32{0, 3}, goals: drain,
			demand: 3, maxStep: 350, step: 1, faults: 1, kinds: all, users: true,
		},
		{
			name: "plain", replicas: Plain, dns: true, before: []int32{2, 2}, grown: []int32{0, 0}, goals: drain,
			maxStep: 300, step: 1, faults: 1, kinds: all, users: true,
		},
		{
			name: "fence only", replicas: Owned, steering: OnDemand, dns: true, before: []int32{2, 1}, grown: []int32{0, 2}, goals: drain,
			demand: 2, step: 1, faults: 1, kinds: all, users: true,
		},
		{
			name: "budget", replicas: Owned, dns: true, before: []int32{2, 1}, grown: []int32{0, 3}, goals: drain,
			demand: 2, budget: 3, maxStep: 500, faults: 2, kinds: lose | lapse, users: true,
		},
		{
			name: "held", replicas: Owned, before: []int32{1, 2}, grown: []int32{0, 3}, goals: drain,
			demand: 3, faults: 1, kinds: roll | scale | operate | reconsult, users: true,
		},
		{
			name: "a part", replicas: Owned, before: []int32{2, 1}, grown: []int32{1, 2}, goals: []Goal{Move, Move},
			demand: 3, faults: 1, kinds: roll | scale | reconsult | lapse, users: true,
		},
	}
}

// TestExploreCatchesEveryMutant shows that the walk and its oracle can see: each mutant
// must break the very invariant whose guard it lost.
func TestExploreCatchesEveryMutant(t *testing.T) {
	seen := make(map[Invariant]int)
	for _, m := range append(safetyMutants(), livenessMutants()...) {
		caught := ""
		for _, u := range hunting() {
			g := newGraph(u, m.next)
			g.hunt = m.breaks
			g.walk()
			if g.complaint == "" && m.breaks == Ends {
				g.ends()
			}
			if g.complaint != "" {
				caught = u.name
				break
			}
		}
		if caught == "" {
			t.Errorf("mutant %s: SURVIVED (should break %s)", m.name, m.breaks)
			continue
		}
		seen[m.breaks]++
		t.Logf("mutant %s: caught", m.name)
	}
	for v := Fits; v <= OneWrite; v++ {
		t.Logf("invariant %-10s has %d mutants", v, seen[v])
		if seen[v] < 2 {
			t.Errorf("invariant %s has %d mutants that are caught, want two at least", v, seen[v])
		}
	}
}
