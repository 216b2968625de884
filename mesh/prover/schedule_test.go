// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"slices"
	"testing"

	"github.com/weir-io/weir/mesh/prover/canary"
	"github.com/weir-io/weir/mesh/prover/push"
	"github.com/weir-io/weir/mesh/prover/syncz"
)

func runSchedules(t *testing.T, keep bool, seeds uint64) {
	t.Helper()
	var weights, fence int
	for seed := range seeds {
		s := newSim(t, seed, keep)
		s.chaos()
		if why := s.settle(); why != "" {
			t.Error(why)
		}
		weights, fence = weights+s.proofs.weights, fence+s.proofs.fence
		for _, lie := range s.lies {
			t.Error(lie)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d schedules, %d proofs of weights, %d of the fence, none false", seeds, weights, fence)
	if weights < int(seeds) || fence < int(seeds) {
		t.Errorf("too few proofs to mean anything: %d and %d", weights, fence)
	}
}

func TestNoScheduleGivesAFalseProofAndEachFairOneAProof(t *testing.T) { runSchedules(t, false, 250) }

func TestNoScheduleOfAnOlderIstioGivesAFalseProofWhenEndpointsKeepTheVersion(t *testing.T) {
	runSchedules(t, true, 250)
}

// TestEachCheckIsNeededInSomeSchedule takes one check away at a time, by changing what the
// judge gets to see, and finds a schedule in which a proof is false then, or never comes.
func TestEachCheckIsNeededInSomeSchedule(t *testing.T) {
	replicas := func(change func(*Replica)) func(*Rules, *Observation) {
		return func(_ *Rules, o *Observation) {
			for n := range o.Replicas {
				change(&o.Replicas[n])
			}
		}
	}
	rows := func(change func(*syncz.Connection)) func(*Rules, *Observation) {
		return replicas(func(r *Replica) {
			r.Reading.Connections = slices.Clone(r.Reading.Connections)
			for n := range r.Reading.Connections {
				change(&r.Reading.Connections[n])
			}
		})
	}
	for name, mutant := range map[string]struct {
		keep   bool
		mutate func(*Rules, *Observation)
	}{
		"what was sent counts as acknowledged": {mutate: rows(func(c *syncz.Connection) {
			c.Routes.Acked, c.Endpoints.Acked = c.Routes.Sent, c.Endpoints.Sent
		})},
		"proxies that are connected nowhere are forgotten": {mutate: func(_ *Rules, o *Observation) { o.Pods = nil }},
		"a stale replica is taken for one that is not": {mutate: replicas(func(r *Replica) {
			if r.Canary.Routes.Sight == canary.SightOld {
				r.Canary.Routes = canary.Finding{Sight: canary.SightNew, Push: push.Version{Counter: 1}}
			}
		})},
		"any canary push will do": {mutate: replicas(func(r *Replica) {
			r.Canary.Routes.Push.Counter = min(r.Canary.Routes.Push.Counter, 1)
			r.Canary.Fence.Push.Counter = min(r.Canary.Fence.Push.Counter, 1)
		})},
		"an older istiod is taken for a newer one": {keep: true, mutate: replicas(func(r *Replica) { r.Keeps = false })},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(400) {
				s := newSim(t, seed, mutant.keep)
				s.mutate = mutant.mutate
				s.chaos()
				if len(s.lies) > 0 {
					t.Logf("caught by seed %d: %s", seed, s.lies[0])
					return
				}
				if !mutant.keep {
					continue
				}
				if why := s.settle(); why != "" {
					t.Logf("caught by seed %d: %s", seed, why)
					return
				}
			}
			t.Error("no schedule needs this check: the schedules are too tame")
		})
	}
}
