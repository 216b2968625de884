// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"slices"
	"strings"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/resview/pb"
)

// clustersOf says for each member what is wanted, written and held. What is held is widened to what the plan wants
// before anything is written, and narrowed to it only by a proof.
func clustersOf(in *input, spec v1alpha1.GlobalServiceSpec, weights v1alpha1.ProofStatus, written bool) []v1alpha1.GlobalServiceClusterStatus {
	old := map[string]v1alpha1.GlobalServiceClusterStatus{}
	if in.service != nil {
		for _, c := range in.service.Status.Clusters {
			old[c.Name] = c
		}
	}
	plans := map[string]v1alpha1.GlobalServiceCluster{}
	for _, p := range spec.Clusters {
		plans[p.Name] = p
	}
	var out []v1alpha1.GlobalServiceClusterStatus
	for _, m := range in.exporters() {
		c, known := old[m.name]
		if !known {
			c = v1alpha1.GlobalServiceClusterStatus{Name: m.name}
			if in.unseen() {
				c.Weight.ProvenHigh = 1000 // a plan without a record: a proxy may use any share
			}
		}
		observe(&c, m, in.now)
		c.Weight = weightOf(c.Weight, plans[m.name].Weight, spec.Phase, weights, written)
		out = append(out, c)
	}
	return out
}

// weightOf follows a weight from wanted to proven.
func weightOf(old v1alpha1.WeightStatus, wanted int32, phase v1alpha1.RulesPhase, proof v1alpha1.ProofStatus, written bool) v1alpha1.WeightStatus {
	if phase != v1alpha1.RulesWeights {
		// No route of ours stands, so a proxy may use any share.
		return v1alpha1.WeightStatus{Wanted: wanted, ProvenLow: 0, ProvenHigh: 1000}
	}
	w := v1alpha1.WeightStatus{Wanted: wanted, Written: -1, ProvenLow: min(old.ProvenLow, wanted), ProvenHigh: max(old.ProvenHigh, wanted)}
	if written {
		w.Written = wanted
	}
	if written && (proof.Level == v1alpha1.ProofProven || proof.Level == v1alpha1.ProofTimed) {
		w.ProvenLow, w.ProvenHigh = wanted, wanted
	}
	return w
}

// observe takes over what a member reports. A member that is not heard keeps its numbers and is marked Blind; one that
// no longer has the Service has none.
func observe(c *v1alpha1.GlobalServiceClusterStatus, m memberView, now time.Time) {
	c.Sight = v1alpha1.SightBlind
	if m.left {
		c.Replicas, c.Ready, c.Fenced, c.InFlight, c.Binding, c.Workloads, c.Budgets, c.SharedWith = 0, 0, 0, nil, "", nil, nil, nil
		return
	}
	if !m.seen {
		return
	}
	c.Sight = v1alpha1.SightSeen
	if m.facts == nil {
		c.Replicas, c.Ready, c.Fenced, c.InFlight, c.Binding, c.Workloads, c.Budgets, c.SharedWith = 0, 0, 0, nil, "", nil, nil, nil
		return
	}
	c.Replicas = 0
	for _, w := range m.facts.GetWorkloads() {
		c.Replicas = min(c.Replicas+min(max(w.GetReplicas(), 0), maxReplicas), maxReplicas)
	}
	c.Binding, c.Workloads = ownersOf(m.facts)
	c.Budgets = budgetsOf(m.facts)
	c.SharedWith = m.shared.with[:min(len(m.shared.with), v1alpha1.MaxSharedWith)]
	c.Ready, c.Fenced = 0, 0
	for _, p := range m.facts.GetPods() {
		if !p.GetReady() || p.GetTerminating() {
			continue
		}
		c.Ready++
		if p.GetFenced() {
			c.Fenced++
		}
	}
	if len(m.facts.GetWorkloads()) == 0 {
		c.Replicas = c.Ready
	}
	c.Quiet, c.InFlight, c.ArrivalsMilliPerSecond = loadOf(m, now)
}

// ownersOf returns the binding whose workload is behind a Service, and the workloads that are not of it, by Kind/name. A
// member's word counts for the Service's own namespace only: what it says of another one's is not believed.
func ownersOf(facts *pb.ServiceFacts) (binding string, others []string) {
	of := func(w *pb.WorkloadFacts) string {
		if namespace, name, ok := strings.Cut(w.GetBinding(), "/"); ok && name != "" && namespace == facts.GetRef().GetNamespace() {
			return hub.Clip(w.GetBinding(), maxBinding)
		}
		return ""
	}
	for _, w := range facts.GetWorkloads() {
		if b := of(w); b != "" && (binding == "" || b < binding) {
			binding = b
		}
	}
	for _, w := range facts.GetWorkloads() {
		if b := of(w); b == "" || b != binding {
			others = append(others, hub.Clip(w.GetKind()+"/"+w.GetName(), 320))
		}
	}
	for _, p := range facts.GetPods() {
		if binding != "" && p.GetWorkload() == "" && !p.GetTerminating() {
			others = append(others, hub.Clip("Pod/"+p.GetName(), 320)) // nobody makes it anew, and weir does not remove it
		}
	}
	slices.Sort(others)
	others = slices.Compact(others)
	return binding, others[:min(len(others), maxWorkloads)]
}

// budgetsOf are the disruption budgets on a Service's pods, each name once.
func budgetsOf(facts *pb.ServiceFacts) []v1alpha1.DisruptionBudget {
	var out []v1alpha1.DisruptionBudget
	for _, b := range facts.GetBudgets() {
		amount := b.GetAmount()
		told := v1alpha1.DisruptionBudget{
			Name: hub.Clip(b.GetName(), 253), MinAvailable: &amount, Unit: v1alpha1.BudgetPods,
			OtherPods: b.GetOtherPods(), OtherReady: b.GetOtherReady(),
		}
		if b.GetUnavailable() {
			told.MinAvailable, told.MaxUnavailable = nil, &amount
		}
		if b.GetPercent() {
			told.Unit = v1alpha1.BudgetPercent
		}
		if !slices.ContainsFunc(out, func(o v1alpha1.DisruptionBudget) bool { return o.Name == told.Name }) {
			out = append(out, told)
		}
	}
	return out
}

// maxBinding is the length of the longest name of a binding that a status holds.
const maxBinding = 317

// maxReplicas is what one member's replicas of one service count at most: more than any cluster runs, and as many as
// mesh/shift takes. A member that tells of more is wrong about itself, which must not stop the moves of the others.
const maxReplicas = 1 << 20

// maxWorkloads is how many workloads a status names for one member.
const maxWorkloads = 100

// spillHeadroom is how many replicas' worth of traffic the others could take if the largest member emptied: their
// ready pods less its share of the whole.
func spillHeadroom(clusters []v1alpha1.GlobalServiceClusterStatus) *int32 {
	var ready, largest int32
	for _, c := range clusters {
		serving := c.Ready - c.Fenced
		ready += serving
		largest = max(largest, serving)
	}
	if len(clusters) < 2 || ready == 0 {
		return nil
	}
	left := (ready - largest) - largest
	return &left
}
