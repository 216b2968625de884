// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"slices"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/shift"
	"github.com/weir-io/weir/sched/reason"
)

// own adds to a state what is to be moved besides traffic: the replicas of the workload that weir owns. Where they shall
// come to be is the binding's decision; where they are asked for now is the plan of this service.
func own(s *shift.State, gs *v1alpha1.GlobalService, binding *v1alpha1.ResourceBinding, wants map[string]want) {
	s.Replicas = shift.Owned
	aim := aimOf(gs, binding, wants)
	back := goesBack(s.Clusters)
	var before, target int32
	for i := range s.Clusters {
		c := &s.Clusters[i]
		row := rowOf(binding, c.Name)
		c.Hold, c.Scaler = holdOf(row), scalerOf(gs, row)
		c.Applied = plannedOf(gs, binding, c.Name)
		if keeps(c) {
			c.Applied = row.Applied // whatever was planned: another one sets it
		}
		if s.Record == shift.Closed {
			c.Before.Replicas = c.Applied
		}
		c.Target.Replicas = endOf(c, row, aim[c.Name], len(wants) > 0)
		if c.Goal == shift.Stay && !back && c.Target.Replicas != c.Before.Replicas {
			// What the user wished for, and was given whole, needs no consent beside the wish.
			c.Goal, c.Accepted = shift.Move, binding.Status.Unplaced == 0
		}
		before += c.Before.Replicas
		target += wished(c, aim[c.Name])
	}
	s.Demand = before
	if !back && !scaledDrain(s.Clusters) {
		s.Demand = min(before, target) // fewer wanted is fewer needed
	}
	s.MinReady = strictestOf(gs.Status.Clusters, s.Demand).ready
	if outdated(binding, wants) {
		s.Decision = shift.Outdated
	}
}

// endOf is how many replicas a cluster shall come to have, of those decided.
func endOf(c *shift.Cluster, row v1alpha1.MemberReplicas, decided int32, drains bool) int32 {
	switch {
	case c.Goal == shift.Drain:
		return 0
	case c.Goal == shift.Undrain && row.Autoscaler != nil:
		return max(decided, c.Before.Replicas) // what was taken from it comes back
	case c.Goal == shift.Stay && keeps(c):
		return leftTo(c, decided, drains)
	}
	return decided
}

// wished is how many of a cluster's replicas somebody needs in the end.
func wished(c *shift.Cluster, decided int32) int32 {
	if c.Goal == shift.Undrain {
		return c.Target.Replicas
	}
	// What an autoscaler asks for beyond the decision is no wish, and what it does without nobody needs.
	return min(decided, c.Target.Replicas)
}

// goesBack says whether aborts are all that is asked for: then everything returns to where it was, whatever was decided
// since.
func goesBack(clusters []shift.Cluster) bool {
	back := false
	for _, c := range clusters {
		if c.Goal != shift.Stay && c.Goal != shift.Abort {
			return false
		}
		back = back || c.Goal == shift.Abort
	}
	return back
}

// aimOf is how many replicas each cluster shall come to have: those decided, and of those that fit nowhere as many as it has.
// What has no better place stays, but in a cluster that is taken out of service.
func aimOf(gs *v1alpha1.GlobalService, binding *v1alpha1.ResourceBinding, wants map[string]want) map[string]int32 {
	aim, left := decidedOf(binding), binding.Status.Unplaced
	for _, c := range gs.Status.Clusters {
		if wants[c.Name].goal == shift.Drain {
			continue
		}
		if row := rowOf(binding, c.Name); aim[c.Name] == 0 && wants[c.Name].goal == shift.Stay && owner(gs, row) {
			aim[c.Name] = row.Applied // what no move takes away goes on serving
			continue
		}
		if keep := min(plannedOf(gs, binding, c.Name)-aim[c.Name], left); keep > 0 {
			aim[c.Name] += keep
			left -= keep
		}
	}
	return aim
}

// decidedOf is how many replicas each cluster shall come to have.
func decidedOf(binding *v1alpha1.ResourceBinding) map[string]int32 {
	out := map[string]int32{}
	for _, c := range binding.Spec.Clusters {
		out[c.Name] = c.Replicas
	}
	return out
}

// plannedOf is how many replicas the plan asks of a cluster. Before this service has a plan for them, what stands is the
// plan.
func plannedOf(gs *v1alpha1.GlobalService, binding *v1alpha1.ResourceBinding, cluster string) int32 {
	for _, c := range gs.Spec.Clusters {
		if c.Name == cluster && c.Replicas != nil {
			return *c.Replicas
		}
	}
	for _, p := range binding.Spec.Plan {
		if p.Name == cluster {
			return p.Replicas
		}
	}
	return rowOf(binding, cluster).Applied
}

// rowOf is what was seen of the workload in a cluster.
func rowOf(binding *v1alpha1.ResourceBinding, cluster string) v1alpha1.MemberReplicas {
	for _, row := range binding.Status.Clusters {
		if row.Name == cluster {
			return row
		}
	}
	return v1alpha1.MemberReplicas{Name: cluster}
}

// holdOf says who else is at the workload. A rollout that is stuck although every pod is of the newest template lacks room
// or health, and not pods of the right kind: weir may take what is not ready elsewhere.
func holdOf(row v1alpha1.MemberReplicas) shift.Hold {
	if row.Rollout == v1alpha1.RolloutProgressing || row.Rollout == v1alpha1.RolloutStuck && row.Updated < row.Applied {
		return shift.RollingOut
	}
	return shift.Unheld
}

// outdated says whether the decision was made before a drain was asked for, or while one was in force that is no more.
// Reasons are those of the decision only where the newest record is of the same division: the decision is written first.
func outdated(binding *v1alpha1.ResourceBinding, wants map[string]want) bool {
	history := binding.Status.History
	if len(binding.Spec.Clusters) == 0 && len(history) == 0 {
		return true // nothing was decided yet
	}
	decided := decidedOf(binding)
	for cluster, w := range wants {
		if w.goal == shift.Drain && decided[cluster] > 0 {
			return true
		}
	}
	if len(history) == 0 || !recorded(history[len(history)-1], decided) {
		return false
	}
	return slices.ContainsFunc(history[len(history)-1].Reasons, func(r v1alpha1.DecisionReason) bool {
		return r.Code == string(reason.Drained) && wants[r.Cluster].goal != shift.Drain
	})
}

// recorded says whether a record is of the division that is in force.
func recorded(r v1alpha1.DecisionRecord, decided map[string]int32) bool {
	var placed int32
	for _, n := range decided {
		if n > 0 {
			placed++
		}
	}
	for _, c := range r.Clusters {
		if decided[c.Name] != c.Replicas {
			return false
		}
	}
	return placed == max(r.ClusterCount, int32(len(r.Clusters))) //nolint:gosec // at most a hundred.
}

// carriedOut says whether a member's workload was seen to ask for what is planned: until then nothing is finished there.
// What an autoscaler asks for is its own affair, once it has its own limits.
func carriedOut(gs *v1alpha1.GlobalService, binding *v1alpha1.ResourceBinding, cluster string) bool {
	row := rowOf(binding, cluster)
	if a := row.Autoscaler; a != nil && !lowered(gs, cluster) && a.State != v1alpha1.AutoscalerOff {
		return a.State != v1alpha1.AutoscalerHeld
	}
	return row.Applied == plannedOf(gs, binding, cluster)
}
