// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"cmp"
	"slices"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/shift"
)

// leaseTime is how old a proof may be for a step to rest on it.
const leaseTime = 10 * time.Second

// stateOf turns what stands in objects into what the core looks at. binding is that of the federated workload behind the
// service, nil where weir does not own its pods; drains are those that name one of the service's clusters; now is compared
// with times in status and never kept.
func stateOf(gs *v1alpha1.GlobalService, binding *v1alpha1.ResourceBinding, drains []v1alpha1.ClusterDrain, now time.Time) shift.State {
	wants := wantsOf(drains)
	policy := policyOf(gs)
	wait := waitedFor(gs, drains, now)
	s := shift.State{
		Service:    gs.Namespace + "/" + gs.Name,
		Replicas:   shift.Plain,
		Steering:   shift.Always,
		Headroom:   shift.Warn,
		Record:     shift.Closed,
		Rules:      rulesProof(gs, wait, now),
		Weights:    proofOf(gs.Status.Weights, gs.Spec.Generation, gs.Spec.Phase == v1alpha1.RulesWeights, wait, now),
		Fence:      proofOf(gs.Status.Fence, gs.Spec.FenceGeneration, gs.Spec.FenceGeneration > 0, wait, now),
		Unweighted: gs.Status.Weights.Unweighted,
		Limits:     shift.Limits{MaxStep: shift.Permille(policy.Pace.MaxStepPercent) * 10},
	}
	if policy.Headroom == v1alpha1.HeadroomRequire {
		s.Headroom = shift.Require
	}
	if gs.Spec.Record != nil {
		s.Record = shift.Open
	}
	if len(gs.Status.Foreign) > 0 {
		s.Foreign = gs.Status.Foreign[0]
	}
	s.Clusters = clustersOf(gs, binding, wants, now)
	for _, c := range s.Clusters {
		s.Limits.FenceStep = max(s.Limits.FenceStep, policy.Pace.FenceStep(c.Ready))
		if c.Goal != shift.Drain {
			s.Demand += c.Before.Replicas
		}
	}
	if binding != nil {
		own(&s, gs, binding, wants)
	}
	s.Demand = min(s.Demand, maxReady) // members say how many they have, and together it may be more than is counted.
	mutate(&s)
	return s
}

// rulesProof is the proof of the subsets. They were proven before the first weight was written, and stay.
func rulesProof(gs *v1alpha1.GlobalService, wait waited, now time.Time) shift.Proof {
	if gs.Spec.Phase == v1alpha1.RulesWeights {
		return shift.Proof{Level: shift.Proven, Lease: shift.Fresh}
	}
	return proofOf(gs.Status.Rules, gs.Spec.Generation, gs.Spec.Phase == v1alpha1.RulesDestinationRules, wait, now)
}

// want is what one ClusterDrain asks of one cluster.
type want struct {
	goal     shift.Goal
	turn     int32
	accepted bool
	drain    *v1alpha1.ClusterDrain
}

// wantsOf orders the drains by age: who asked first goes first. A drain whose controller has not admitted it yet
// (status.goal is empty) asks for nothing.
func wantsOf(drains []v1alpha1.ClusterDrain) map[string]want {
	sorted := slices.Clone(drains)
	slices.SortFunc(sorted, func(a, b v1alpha1.ClusterDrain) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	goals := map[v1alpha1.GoalKind]shift.Goal{
		v1alpha1.GoalDrain: shift.Drain, v1alpha1.GoalUndrain: shift.Undrain, v1alpha1.GoalAbort: shift.Abort,
	}
	wants := map[string]want{}
	for i := range sorted {
		d := &sorted[i]
		goal, ok := goals[d.Status.Goal]
		if _, taken := wants[d.Spec.ClusterName]; !ok || taken {
			continue
		}
		wants[d.Spec.ClusterName] = want{
			goal: goal, turn: int32(i) + 1, drain: d,
			accepted: d.Spec.HeadroomLoss == v1alpha1.HeadroomAccept,
		}
	}
	return wants
}

func policyOf(gs *v1alpha1.GlobalService) v1alpha1.TrafficPolicySpec {
	if gs.Status.Policy != nil {
		return *gs.Status.Policy
	}
	return v1alpha1.DefaultTrafficPolicySpec()
}

func clustersOf(gs *v1alpha1.GlobalService, binding *v1alpha1.ResourceBinding, wants map[string]want, now time.Time) []shift.Cluster {
	plans := map[string]v1alpha1.GlobalServiceCluster{}
	for _, p := range gs.Spec.Clusters {
		plans[p.Name] = p
	}
	before := map[string]v1alpha1.ClusterBefore{}
	if gs.Spec.Record != nil {
		for _, b := range gs.Spec.Record.Before {
			before[b.Name] = b
		}
	}
	target := targetSplit(gs, binding, wants)
	written := gs.Spec.Phase == v1alpha1.RulesWeights
	var out []shift.Cluster
	for _, seen := range gs.Status.Clusters {
		plan, w := plans[seen.Name], wants[seen.Name]
		c := shift.Cluster{
			Name: seen.Name, Goal: w.goal, Turn: w.turn, Accepted: w.accepted,
			Target:  shift.Place{Replicas: seen.Replicas, Share: target[seen.Name]},
			Applied: seen.Replicas, Ready: seen.Ready, Fenced: min(seen.Fenced, seen.Ready),
			HeldLo: shift.Permille(seen.Weight.ProvenLow), HeldHi: shift.Permille(seen.Weight.ProvenHigh),
			DNS:   dnsOf(gs, seen.Name),
			Quiet: quietOf(gs, seen, w, binding != nil, now), InFlight: inFlightOf(gs, seen, w, binding != nil, now),
		}
		if written {
			c.Wrote = shift.Permille(plan.Weight)
		}
		if plan.NewPods == v1alpha1.PodsFenced {
			c.Entry = shift.Shut
		}
		if seen.Sight == v1alpha1.SightSeen {
			c.Sight = shift.Seen
		}
		if w.goal == shift.Drain {
			c.Target = shift.Place{}
		}
		c.Before = shift.Place{Replicas: seen.Ready, Share: c.Wrote}
		if !written {
			c.Before.Share = target[seen.Name]
		}
		if b, ok := before[seen.Name]; ok {
			c.Before = shift.Place{Replicas: b.Replicas, Share: shift.Permille(b.Weight)}
		}
		out = append(out, c)
	}
	makeWhole(out)
	return out
}

// makeWhole divides the way back among the clusters that are there: one that had a share when the move began may have left
// since, and what it had is of those that stay, in their proportions.
func makeWhole(clusters []shift.Cluster) {
	of := func(share func(*shift.Cluster) int64) (map[string]int64, int64) {
		in, total := map[string]int64{}, int64(0)
		for i := range clusters {
			n := share(&clusters[i])
			in[clusters[i].Name] = n
			total += n
		}
		return in, total
	}
	in, total := of(func(c *shift.Cluster) int64 { return int64(c.Before.Share) })
	if total == int64(shift.Whole) || len(clusters) == 0 {
		return
	}
	if total == 0 {
		in, total = of(func(c *shift.Cluster) int64 { return int64(c.Wrote) })
	}
	if total == 0 {
		in, total = of(func(*shift.Cluster) int64 { return 1 })
	}
	shares := apportion(in, total)
	for i := range clusters {
		clusters[i].Before.Share = shares[clusters[i].Name]
	}
}

// targetSplit is FollowReplicas: shares in proportion to the replicas that the clusters in service ask for, or, of a
// federated workload, shall come to have. Wanted replicas, not ready ones: a crash is the reflex's to absorb, and weights
// that followed each crash would flap.
func targetSplit(gs *v1alpha1.GlobalService, binding *v1alpha1.ResourceBinding, wants map[string]want) map[string]shift.Permille {
	var total int64
	var aim map[string]int32
	if binding != nil {
		aim = aimOf(gs, binding, wants)
	}
	in := map[string]int64{}
	for _, c := range gs.Status.Clusters {
		in[c.Name] = 0
		if wants[c.Name].goal == shift.Drain {
			continue
		}
		in[c.Name] = int64(max(c.Replicas, 0))
		if binding != nil {
			in[c.Name] = int64(aim[c.Name])
		}
		total += in[c.Name]
	}
	if total == 0 {
		return heldSplit(gs, wants)
	}
	return apportion(in, total)
}

// heldSplit keeps what stands where nothing tells how to split, among the clusters in service.
func heldSplit(gs *v1alpha1.GlobalService, wants map[string]want) map[string]shift.Permille {
	written := map[string]int64{}
	for _, c := range gs.Spec.Clusters {
		written[c.Name] = int64(c.Weight)
	}
	in, total := map[string]int64{}, int64(0)
	for _, c := range gs.Status.Clusters {
		if wants[c.Name].goal != shift.Drain {
			in[c.Name] = written[c.Name]
			total += in[c.Name]
		}
	}
	if total == 0 {
		for name := range in {
			in[name] = 1
			total++
		}
	}
	if total == 0 {
		return map[string]shift.Permille{}
	}
	return apportion(in, total)
}

// apportion divides a thousand in proportion by largest remainder; ties go to the first name.
func apportion(in map[string]int64, total int64) map[string]shift.Permille {
	type part struct {
		name string
		rest int64
	}
	out, parts, given := map[string]shift.Permille{}, []part{}, int64(0)
	for name, n := range in {
		whole := n * int64(shift.Whole) / total
		out[name] = shift.Permille(whole) //nolint:gosec // at most 1000.
		given += whole
		parts = append(parts, part{name, n * int64(shift.Whole) % total})
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Or(cmp.Compare(b.rest, a.rest), cmp.Compare(a.name, b.name)) })
	for i := range int64(shift.Whole) - given {
		out[parts[i].name]++
	}
	return out
}
