// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/mesh/shift"
)

// planOf writes a step into a plan. The plan names every cluster of the state, sorted, with the replicas that stand where
// weir owns them, and nothing else changes but what the step says. A step that this plan has no field for is an error: it
// must not be lost in silence.
func planOf(spec v1alpha1.GlobalServiceSpec, state shift.State, step shift.Step) (v1alpha1.GlobalServiceSpec, error) {
	out := *spec.DeepCopy()
	out.Clusters = mergeClusters(spec.Clusters, state)
	switch step.Kind {
	case shift.Wait, shift.Done:
	case shift.Rules:
		out.Phase = v1alpha1.RulesDestinationRules
		out.Generation++
	case shift.Split:
		out.Phase = v1alpha1.RulesWeights
		out.Generation++
		for _, w := range step.Split {
			find(out.Clusters, w.Cluster).Weight = int32(w.Share)
		}
	case shift.Fence, shift.Unfence:
		c := find(out.Clusters, step.Cluster)
		c.FencedPods, c.Fence, c.NewPods = step.Fenced, v1alpha1.FenceExact, v1alpha1.PodsOpen
		if step.Entry == shift.Shut {
			c.NewPods = v1alpha1.PodsFenced
		}
		out.FenceGeneration++
	case shift.Renew:
		if step.Renews == shift.FenceSubject {
			out.FenceGeneration++
		} else {
			out.Generation++
		}
	case shift.Release:
		out.Record = nil
		release(out.Clusters, state)
		if !anyFence(out.Clusters) {
			out.FenceGeneration = 0 // a fence of nothing need not be proven for ever
		}
	case shift.ReplicasUp, shift.ReplicasDown:
		if state.Replicas != shift.Owned {
			return spec, fmt.Errorf("step %s of %s: its replicas are not weir's", step.Kind, state.Service)
		}
		replicate(find(out.Clusters, step.Cluster), state, step)
	case shift.DNSOut:
		find(out.Clusters, step.Cluster).DNS = v1alpha1.DNSWithdrawn
	case shift.DNSIn:
		find(out.Clusters, step.Cluster).DNS = v1alpha1.DNSNamed
	}
	return out, nil
}

// replicate plans another number of replicas. Pods that come up fenced are all to be fenced; where fenced ones go, no other
// is fenced in their place. Where an autoscaler sets the replicas, what is taken is taken by its limits, and it gets them
// back with the replicas.
func replicate(c *v1alpha1.GlobalServiceCluster, state shift.State, step shift.Step) {
	c.Replicas, c.Autoscaler = &step.Replicas, v1alpha1.AutoscalerKept
	if step.Kind == shift.ReplicasDown && slices.ContainsFunc(state.Clusters, func(s shift.Cluster) bool {
		return s.Name == c.Name && (s.Scaler == shift.Autoscaled || s.Scaler == shift.Lowered)
	}) {
		c.Autoscaler = v1alpha1.AutoscalerLowered
	}
	switch {
	case c.NewPods == v1alpha1.PodsFenced:
		c.FencedPods = max(c.FencedPods, step.Replicas)
	case step.Kind == shift.ReplicasDown && c.FencedPods > 0:
		c.Fence = v1alpha1.FenceKeep
	}
}

// release forgets fences of pods that are gone, gives autoscalers their limits back, and opens clusters that hold none: what
// comes there next comes at rest.
func release(clusters []v1alpha1.GlobalServiceCluster, state shift.State) {
	for _, c := range state.Clusters {
		p := find(clusters, c.Name)
		p.Autoscaler = v1alpha1.AutoscalerKept
		if c.Ready == 0 && c.Sight == shift.Seen {
			p.NewPods = v1alpha1.PodsOpen
		}
		if c.Fenced == 0 && p.NewPods == v1alpha1.PodsOpen {
			p.FencedPods, p.Fence = 0, v1alpha1.FenceExact
		}
	}
}

func anyFence(clusters []v1alpha1.GlobalServiceCluster) bool {
	return slices.ContainsFunc(clusters, func(c v1alpha1.GlobalServiceCluster) bool {
		return c.FencedPods > 0 || c.NewPods == v1alpha1.PodsFenced
	})
}

// recordOf is what stands now, as the way back of the move that begins.
func recordOf(state shift.State, now metav1.Time) *v1alpha1.ShiftRecord {
	r := &v1alpha1.ShiftRecord{Since: now, Demand: state.Demand}
	for _, c := range state.Clusters {
		r.Before = append(r.Before, v1alpha1.ClusterBefore{Name: c.Name, Replicas: c.Before.Replicas, Weight: int32(c.Before.Share)})
	}
	slices.SortFunc(r.Before, func(a, b v1alpha1.ClusterBefore) int { return strings.Compare(a.Name, b.Name) })
	return r
}

func mergeClusters(have []v1alpha1.GlobalServiceCluster, state shift.State) []v1alpha1.GlobalServiceCluster {
	var out []v1alpha1.GlobalServiceCluster
	for _, c := range state.Clusters {
		plan := v1alpha1.GlobalServiceCluster{Name: c.Name, Fence: v1alpha1.FenceExact, NewPods: v1alpha1.PodsOpen, DNS: v1alpha1.DNSNamed, Autoscaler: v1alpha1.AutoscalerKept}
		if i := slices.IndexFunc(have, func(h v1alpha1.GlobalServiceCluster) bool { return h.Name == c.Name }); i >= 0 {
			plan = have[i]
		}
		switch {
		case state.Replicas == shift.Plain:
			plan.Replicas = nil
		case plan.Replicas == nil:
			stands := c.Applied
			plan.Replicas = &stands
		}
		out = append(out, plan)
	}
	slices.SortFunc(out, func(a, b v1alpha1.GlobalServiceCluster) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// find returns the cluster's plan. A step names clusters of its state only, and all of those are in the plan.
func find(clusters []v1alpha1.GlobalServiceCluster, name string) *v1alpha1.GlobalServiceCluster {
	for i := range clusters {
		if clusters[i].Name == name {
			return &clusters[i]
		}
	}
	return &v1alpha1.GlobalServiceCluster{}
}

// blockersOf lists what is waited for.
func blockersOf(blocked []shift.Blocked) []v1alpha1.Blocker {
	var out []v1alpha1.Blocker
	for _, b := range blocked {
		if !b.Note {
			out = append(out, v1alpha1.Blocker{
				Code: b.Code.String(), Cluster: b.Cluster, Subject: hub.Clip(b.Subject, v1alpha1.MaxMessage),
				Wakes: b.Wakes.String(), Message: hub.Clip(b.Sentence(), v1alpha1.MaxMessage),
			})
		}
	}
	return out[:min(len(out), v1alpha1.MaxBlocked)]
}

// noticesOf lists what is only said, and holds nothing up.
func noticesOf(blocked []shift.Blocked) []v1alpha1.Notice {
	var out []v1alpha1.Notice
	for _, b := range blocked {
		if b.Note {
			out = append(out, v1alpha1.Notice{
				Code: b.Code.String(), Cluster: b.Cluster, Subject: hub.Clip(b.Subject, v1alpha1.MaxMessage),
				Message: hub.Clip(b.Sentence(), v1alpha1.MaxMessage),
			})
		}
	}
	return out[:min(len(out), v1alpha1.MaxBlocked)]
}
