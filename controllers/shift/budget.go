// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/shift"
)

// maxReady is the most that a budget is taken to ask for: as many copies as package shift counts.
const maxReady = 1 << 20

// strictest is the disruption budget that asks for most ready copies of a workload.
type strictest struct {
	ready         int32 // how many it asks for, over all clusters
	name, cluster string
}

// strictestOf holds every budget of every cluster against the copies of all clusters, of which so many are wanted: a copy
// that went from one cluster and is ready in another was not disrupted. Where several clusters have budgets, each alone
// speaks of the whole workload, and who asks for most is heard.
func strictestOf(clusters []v1alpha1.GlobalServiceClusterStatus, wanted int32) strictest {
	var out strictest
	for i := range clusters {
		for k := range clusters[i].Budgets {
			b := &clusters[i].Budgets[k]
			if n := readyFor(b, wanted); n > out.ready {
				out = strictest{n, b.Name, clusters[i].Name}
			}
		}
	}
	return out
}

// readyFor is how many ready copies of a workload one budget asks for, where so many are wanted. Pods of others that it
// selects too are wanted besides, and those of them that are ready count for it. Parts of a pod are whole pods, as they are
// to Kubernetes.
func readyFor(b *v1alpha1.DisruptionBudget, wanted int32) int32 {
	all := int64(wanted) + int64(b.OtherPods)
	whole := func(n int32) int64 {
		if b.Unit == v1alpha1.BudgetPercent {
			return (int64(n)*all + 99) / 100
		}
		return int64(n)
	}
	var ready int64
	switch {
	case b.MinAvailable != nil:
		ready = whole(*b.MinAvailable)
	case b.MaxUnavailable != nil:
		ready = all - whole(*b.MaxUnavailable)
	}
	return int32(min(max(ready-int64(b.OtherReady), 0), maxReady))
}

// named says of every wait for a disruption budget which one it is.
func named(blocked []shift.Blocked, gs *v1alpha1.GlobalService, binding *v1alpha1.ResourceBinding, demand int32) []shift.Blocked {
	for i := range blocked {
		switch blocked[i].Code {
		case shift.DisruptionBudget:
			b := strictestOf(gs.Status.Clusters, demand)
			blocked[i].Subject = b.name + " of " + b.cluster
		case shift.AutoscalerOwns:
			if a := rowOf(binding, blocked[i].Cluster).Autoscaler; a != nil {
				blocked[i].Subject = a.Name
			}
		default:
		}
	}
	return blocked
}
