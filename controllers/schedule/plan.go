// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

// PlanOf is what members shall hold now of a workload whose pods are behind global services. Their shifts plan it, since
// traffic moves with it: a member has what the service that wants the most of it there plans. rest is the plan without
// regard to traffic; it counts only for members in which no such service is. services may be any; none of them is behind
// this workload where ok is false.
//
// A service whose plan does not tell yet how many leaves what stands as it is. One with pods of somebody else's beside
// these is not moved as a whole: there replicas rise and never fall.
func PlanOf(b *v1alpha1.ResourceBinding, rest []v1alpha1.ClusterReplicas, services []v1alpha1.GlobalService) (plan []v1alpha1.ClusterReplicas, ok bool) {
	behind := servicesOf(b, services)
	if len(behind) == 0 {
		return nil, false
	}
	stands, decided := map[string]int32{}, map[string]int32{}
	names := make([]string, 0, len(rest))
	for _, p := range b.Spec.Plan {
		stands[p.Name] = p.Replicas
		names = append(names, p.Name)
	}
	for _, c := range b.Spec.Clusters {
		decided[c.Name] = c.Replicas
		names = append(names, c.Name)
	}
	plainly := map[string]int32{}
	for _, p := range rest {
		plainly[p.Name] = p.Replicas
		names = append(names, p.Name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		n, steered := int32(0), false
		for i := range behind {
			if gs := &behind[i]; concerns(gs, name) {
				n, steered = max(n, plannedBy(gs, b, name, stands[name], decided[name])), true
			}
		}
		if !steered {
			n = plainly[name]
		}
		if n > 0 || decided[name] > 0 {
			plan = append(plan, v1alpha1.ClusterReplicas{Name: name, Replicas: n})
		}
	}
	return plan, true
}

// LoweredOf are the members in which autoscalers of a workload have their limits lowered to the plan: those where every
// global service that is there has planned so.
func LoweredOf(b *v1alpha1.ResourceBinding, services []v1alpha1.GlobalService) []string {
	asked, refused := map[string]bool{}, map[string]bool{}
	for _, gs := range servicesOf(b, services) {
		for _, c := range gs.Status.Clusters {
			if gs.Binding() == b.Namespace+"/"+b.Name && slices.ContainsFunc(gs.Spec.Clusters, func(p v1alpha1.GlobalServiceCluster) bool {
				return p.Name == c.Name && p.Autoscaler == v1alpha1.AutoscalerLowered
			}) {
				asked[c.Name] = true
			} else {
				refused[c.Name] = true
			}
		}
	}
	maps.DeleteFunc(asked, func(name string, _ bool) bool { return refused[name] })
	return slices.Sorted(maps.Keys(asked))
}

// servicesOf are the services behind which the workload of a binding is.
func servicesOf(b *v1alpha1.ResourceBinding, services []v1alpha1.GlobalService) []v1alpha1.GlobalService {
	key := b.Namespace + "/" + b.Name
	var out []v1alpha1.GlobalService
	for _, gs := range services {
		if gs.Namespace == b.Namespace && slices.Contains(gs.Bindings(), key) {
			out = append(out, gs)
		}
	}
	return out
}

// concerns says whether a service is in a member.
func concerns(gs *v1alpha1.GlobalService, cluster string) bool {
	return slices.ContainsFunc(gs.Status.Clusters, func(c v1alpha1.GlobalServiceClusterStatus) bool { return c.Name == cluster })
}

// plannedBy is how many replicas one service plans in a member.
func plannedBy(gs *v1alpha1.GlobalService, b *v1alpha1.ResourceBinding, cluster string, stands, decided int32) int32 {
	if gs.Binding() != b.Namespace+"/"+b.Name {
		return max(stands, decided) // not all of its pods are of this workload
	}
	n := stands
	for _, c := range gs.Spec.Clusters {
		if c.Name == cluster && c.Replicas != nil {
			n = *c.Replicas
		}
	}
	if len(gs.Status.Foreign) > 0 || hub.NotServed(gs.Status.Conditions) {
		return max(n, decided) // its shift stands still; more pods need none
	}
	return n
}

// steered is the move of a workload behind global services: the plan of their shifts, and what those wait for.
func steered(b *v1alpha1.ResourceBinding, plain move, services []v1alpha1.GlobalService) move {
	plan, ok := PlanOf(b, plain.plan, services)
	if !ok {
		return plain
	}
	m := move{plan: plan, lowered: LoweredOf(b, services)}
	for _, gs := range servicesOf(b, services) {
		if gs.Status.Shift.Step == "" || gs.Status.Shift.Step == stepDone {
			continue
		}
		m.step = cmp.Or(m.step, gs.Status.Shift.Step)
		m.blocked = append(m.blocked, gs.Status.Shift.Blocked...)
		m.notices = append(m.notices, gs.Status.Shift.Notices...)
	}
	if m.step == "" && !settled(b, plan) {
		m.step = stepWait
	}
	m.blocked = m.blocked[:min(len(m.blocked), v1alpha1.MaxBlocked)]
	m.notices = m.notices[:min(len(m.notices), v1alpha1.MaxBlocked)]
	return m
}

// Steps of a shift that says that it is over, or has not begun.
const (
	stepDone = "Done"
	stepWait = "Wait"
)

// settled says whether a plan is the decision. Where an autoscaler sets the replicas it need not be: a drain that took them
// planned as many as it had asked for when it gave them back.
func settled(b *v1alpha1.ResourceBinding, plan []v1alpha1.ClusterReplicas) bool {
	left := map[string]int32{}
	for _, c := range b.Spec.Clusters {
		left[c.Name] += c.Replicas
	}
	for _, p := range plan {
		left[p.Name] -= p.Replicas
	}
	for _, c := range b.Spec.Clusters {
		for i := range b.Status.Clusters {
			if row := &b.Status.Clusters[i]; row.Name == c.Name && c.Replicas > 0 && row.Autoscaler.Sets() {
				left[c.Name] = 0
			}
		}
	}
	for _, n := range left {
		if n != 0 {
			return false
		}
	}
	return true
}
