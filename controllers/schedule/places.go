// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"maps"
	"slices"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/sched"
	"github.com/weir-io/weir/sched/adapter"
	"github.com/weir-io/weir/sched/filter"
)

func decided(a *answer) []v1alpha1.BindingCluster { return adapter.Decided(&a.decision) }

// places are the members that hold replicas of a workload, or shall, by name. One that is no longer registered cannot be
// written to and holds nothing that counts.
func places(e *entry, target []v1alpha1.BindingCluster, views []sched.ClusterView) []place {
	all := held(e, target)
	registered, drained := make(map[string]bool, len(views)), map[string]bool{}
	for i := range views {
		registered[views[i].Cluster], drained[views[i].Cluster] = true, views[i].Duty == filter.Drained
	}
	out := make([]place, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		if !registered[name] {
			continue
		}
		if row := e.row(name); row != nil {
			p.lowers = drained[name] && row.Autoscaler != nil && row.Autoscaler.State != v1alpha1.AutoscalerOperated
			p.ready, p.seen = row.Ready, row.Sight != v1alpha1.SightBlind
			p.rolling = row.Rollout == v1alpha1.RolloutProgressing
			if row.Reason == v1alpha1.ReasonHPA {
				p.held = row.Reason
			}
		}
		out = append(out, *p)
	}
	return out
}

// held are the members of a workload with what is planned and decided there, by name: also those in which only an autoscaler
// keeps replicas, or has limits to get back.
func held(e *entry, target []v1alpha1.BindingCluster) map[string]*place {
	all := map[string]*place{}
	at := func(name string) *place {
		if all[name] == nil {
			all[name] = &place{cluster: name}
		}
		return all[name]
	}
	for _, p := range e.binding.Spec.Plan {
		at(p.Name).planned = p.Replicas
	}
	for name, n := range e.placed {
		at(name).planned = n
	}
	for _, c := range target {
		at(c.Name).decided = c.Replicas
	}
	for i := range e.binding.Status.Clusters {
		if row := &e.binding.Status.Clusters[i]; row.Autoscaler != nil {
			p := at(row.Name)
			p.stray = p.planned == 0 && p.decided == 0
		}
	}
	for _, name := range e.binding.Spec.Lowered {
		at(name).stray = false // its replicas are gone, and its limits come back with them
	}
	return all
}
