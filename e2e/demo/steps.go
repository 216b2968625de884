// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
)

// history keeps every step of a run that was ever seen, since a GlobalService
// keeps only the last ones. It is safe for concurrent use.
type history struct {
	// since is when the run began. What was done before is not of it, and its
	// evidence may be forgotten already.
	since time.Time
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
		if step.Time.Before(h.since) {
			continue
		}
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

// kindUp and kindDown are the steps that bring replicas and take them away.
const (
	kindUp   = "ReplicasUp"
	kindDown = "ReplicasDown"
)

// ends gives the kind of step that shows that a goal was reached. A move that
// nobody drains for has no step of its own at its end.
func ends(goal v1alpha1.GoalKind) string {
	if goal == v1alpha1.GoalMove {
		return kindDown
	}
	return kindDone
}

// checkSteps says what is missing from the evidence: each goal must have been
// reached, and each finished drain, and each step that takes replicas away, must
// rest on both proofs.
func checkSteps(steps []Step, goals ...v1alpha1.GoalKind) error {
	var all []error
	for _, goal := range goals {
		reached := slices.ContainsFunc(steps, func(s Step) bool { return s.Goal == string(goal) && s.Kind == ends(goal) })
		if !reached {
			all = append(all, fmt.Errorf("no step %s of goal %s was seen", ends(goal), goal))
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

// checkOrder says what is wrong with the first drain of a workload's replicas:
// they must come up elsewhere before anything else, and go from the cluster last.
func checkOrder(steps []Step, service, cluster string) error {
	up, down := 0, 0
	for _, s := range steps {
		if s.Service != service || s.Goal != string(v1alpha1.GoalDrain) {
			continue
		}
		switch {
		case s.Kind == kindUp && s.Cluster != cluster && down == 0:
			up++
		case s.Kind == kindUp:
			return fmt.Errorf("%s: replicas came up in %s after some had gone from %s", service, s.Cluster, cluster)
		case s.Kind == kindDown && s.Cluster == cluster:
			down++
		case s.Kind == kindDone && s.Cluster == cluster:
			if up == 0 || down == 0 {
				return fmt.Errorf("%s: the drain of %s ended with %d steps %s elsewhere and %d steps %s there", service, cluster, up, kindUp, down, kindDown)
			}
			return nil
		}
	}
	return fmt.Errorf("%s: no drain of %s ended", service, cluster)
}

// told gives a line for each step that changed replicas.
func told(steps []Step) []string {
	var lines []string
	for _, s := range steps {
		if s.Replicas == nil {
			continue
		}
		line := fmt.Sprintf("%s %-7s %-12s of %s: %s to %d", s.Time.UTC().Format("15:04:05.0"), s.Goal, s.Kind, s.Service, s.Cluster, *s.Replicas)
		if s.Kind == kindDown {
			line += fmt.Sprintf(", weights %s by %d proxies, fence %s by %d", s.Weights.Level, s.Weights.proxies(), s.Fence.Level, s.Fence.proxies())
		}
		lines = append(lines, line)
	}
	return lines
}

// proxies counts the proxies that acknowledged.
func (p Proof) proxies() int {
	n := 0
	for _, i := range p.Istiods {
		n += len(i.Proxies)
	}
	return n
}
