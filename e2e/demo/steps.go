// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/weir-io/weir/api/v1alpha1"
)

// history keeps every step that was ever seen, since a GlobalService keeps only
// the last ones. It is safe for concurrent use.
type history struct {
	mu    sync.Mutex
	steps []Step
}

// keep adds the steps of a service that are new.
func (h *history) keep(gs v1alpha1.GlobalService) {
	h.mu.Lock()
	defer h.mu.Unlock()
	service := gs.Namespace + "/" + gs.Name
	for i := range gs.Status.Steps {
		step := stepOf(service, gs.Status.Steps[i])
		known := slices.ContainsFunc(h.steps, func(s Step) bool {
			return s.Service == step.Service && s.Time.Equal(step.Time) && s.Kind == step.Kind && s.Cluster == step.Cluster
		})
		if !known {
			h.steps = append(h.steps, step)
		}
	}
}

// all gives the steps in order of time.
func (h *history) all() []Step {
	h.mu.Lock()
	defer h.mu.Unlock()
	steps := append([]Step{}, h.steps...)
	slices.SortStableFunc(steps, func(a, b Step) int { return a.Time.Compare(b.Time) })
	return steps
}

// stepOf takes over what the file tells of a step.
func stepOf(service string, r v1alpha1.StepRecord) Step {
	return Step{
		Goal: string(r.Goal), Kind: r.Kind, Cluster: r.Cluster, Service: service, Time: r.StartedAt.UTC(), Replicas: r.Replicas,
		Weights: proofOf(r.Weights), Fence: proofOf(r.Fence),
	}
}

// proofOf takes over a proof. None at all is one of level None.
func proofOf(s *v1alpha1.ProofStatus) Proof {
	p := Proof{Level: string(v1alpha1.ProofNone), Istiods: []IstiodProof{}}
	if s == nil {
		return p
	}
	p.Level = string(s.Level)
	for _, i := range s.Istiods {
		istiod := IstiodProof{Name: i.Name, Push: i.Push, Proxies: []ProxyProof{}}
		for _, x := range i.Proxies {
			istiod.Proxies = append(istiod.Proxies, ProxyProof{Name: x.Name, Acked: x.Acked})
		}
		p.Istiods = append(p.Istiods, istiod)
	}
	return p
}

// kindDone is the last step of a shift.
const kindDone = "Done"

// kindDown is the step that takes replicas away.
const kindDown = "ReplicasDown"

// checkSteps says what is missing from the evidence: each goal must have been
// reached, and each finished drain, and each step that takes replicas away, must
// rest on both proofs.
func checkSteps(steps []Step, goals ...v1alpha1.GoalKind) error {
	var all []error
	for _, goal := range goals {
		reached := slices.ContainsFunc(steps, func(s Step) bool { return s.Goal == string(goal) && s.Kind == kindDone })
		if !reached {
			all = append(all, fmt.Errorf("no step %s of goal %s was seen", kindDone, goal))
		}
	}
	for _, s := range steps {
		if s.Kind != kindDown && (s.Goal != string(v1alpha1.GoalDrain) || s.Kind != kindDone) {
			continue
		}
		for name, p := range map[string]Proof{"weights": s.Weights, "fence": s.Fence} {
			if p.Level != string(v1alpha1.ProofProven) || p.proxies() == 0 {
				all = append(all, fmt.Errorf("step %s (%s) of %s rests on %s %s by %d proxies", s.Kind, s.Goal, s.Cluster, name, p.Level, p.proxies()))
			}
		}
	}
	return errors.Join(all...)
}

// proxies counts the proxies that acknowledged.
func (p Proof) proxies() int {
	n := 0
	for _, i := range p.Istiods {
		n += len(i.Proxies)
	}
	return n
}
