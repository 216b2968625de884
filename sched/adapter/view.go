// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/view"
	"github.com/weir-io/weir/sched"
	"github.com/weir-io/weir/sched/dimension"
	"github.com/weir-io/weir/sched/filter"
	"github.com/weir-io/weir/sched/fit"
	"github.com/weir-io/weir/sched/match"
)

// Cluster is what a registration says of a cluster: it is in service, healthy, and nothing of its nodes is known.
func Cluster(c *v1alpha1.Cluster) sched.ClusterView {
	return sched.ClusterView{
		Cluster: c.Name, Region: c.Spec.Region, Zone: c.Spec.Zone, Labels: c.Labels, Taints: taints(c.Spec.Taints),
	}
}

// Fresh is how old a view of the cluster may be and still be believed whole: as long as three beats take.
func Fresh(c *v1alpha1.Cluster) time.Duration {
	interval, _ := c.Spec.Heartbeat()
	return 3 * interval
}

// See adds what a file says of the cluster's nodes. Fresh is that of its registration.
func See(v *sched.ClusterView, spec *v1alpha1.ClusterViewSpec, fresh time.Duration) {
	v.Seen, v.Version, v.Serves = true, spec.Version, spec.ServedAPIs
	v.Health = Health(spec.Health)
	age := time.Duration(min(spec.AgeSeconds, int64(time.Duration(1<<62)/time.Second))) * time.Second
	v.Confidence = int64(view.Confidence(age, fresh))
	v.Nodes = make([]fit.Node, 0, len(spec.Nodes))
	for i := range spec.Nodes {
		n := &spec.Nodes[i]
		count := int64(1)
		if n.Count != nil {
			count = int64(*n.Count)
		}
		free := amounts(n.Allocatable)
		_, pods := free[dimension.Pods]
		for name, taken := range amounts(n.Allocated) {
			if name != dimension.Pods || pods {
				free[name] -= taken
			}
		}
		v.Nodes = append(v.Nodes, fit.Node{Count: count, Labels: n.Labels, Taints: taints(n.Taints), Free: free})
	}
}

// Watch adds what an agent has told of the cluster's nodes, and how far that is believed, in percent.
func Watch(v *sched.ClusterView, seen *view.View, confidence int) {
	v.Seen, v.Version, v.Confidence = true, int64(min(seen.Version(), 1<<62)), int64(confidence)
	shapes := seen.Shapes()
	v.Nodes = make([]fit.Node, 0, len(shapes))
	for _, s := range shapes {
		if !s.Usable {
			continue
		}
		// An agent leaves out what is zero, and a node that may run no pod says so by that.
		n := fit.Node{Count: int64(s.Count), Labels: make(map[string]string, len(s.Labels)), Free: dimension.Amounts{dimension.Pods: 0}}
		for _, a := range s.Allocatable {
			n.Free[a.Name] += a.Value
		}
		for _, a := range s.Allocated {
			n.Free[a.Name] -= a.Value
		}
		for _, l := range s.Labels {
			n.Labels[l.Key] = l.Value
		}
		for _, t := range s.Taints {
			n.Taints = append(n.Taints, match.Taint{Key: t.Key, Value: t.Value, Effect: match.Effect(t.Effect)})
		}
		v.Nodes = append(v.Nodes, n)
	}
}

// Health of a cluster as the API words it. An empty or unknown word is Healthy.
func Health(h v1alpha1.ClusterHealth) filter.Health {
	switch h {
	case v1alpha1.HealthSuspect:
		return filter.Suspect
	case v1alpha1.HealthDead:
		return filter.Dead
	case v1alpha1.HealthPartitioned:
		return filter.Partitioned
	case v1alpha1.HealthHealthy:
	}
	return filter.Healthy
}

func taints(all []v1alpha1.ClusterTaint) []match.Taint {
	var out []match.Taint
	for _, t := range all {
		out = append(out, match.Taint{Key: t.Key, Value: t.Value, Effect: match.Effect(t.Effect)})
	}
	return out
}

// Decided are the targets of a decision as a binding keeps them, by cluster.
func Decided(d *sched.Decision) []v1alpha1.BindingCluster {
	out := make([]v1alpha1.BindingCluster, 0, len(d.Targets))
	for _, t := range d.Targets {
		out = append(out, v1alpha1.BindingCluster{Name: t.Cluster, Replicas: int32(t.Replicas), ViewVersion: t.View}) //nolint:gosec // at most what was wanted.
	}
	return out
}
