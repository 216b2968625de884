// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package unjoin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

// Fleet is all that stands on the hub and bears on whether a member may leave.
type Fleet struct {
	Cluster  *v1alpha1.Cluster
	Drains   []v1alpha1.ClusterDrain
	Services []v1alpha1.GlobalService
	Bindings []v1alpha1.ResourceBinding
	Works    []v1alpha1.Work // of this member
}

// A Hold is one thing that keeps a member from leaving.
type Hold struct {
	// Code is one of the list below.
	Code string `json:"code"`
	// Subject is what it is about: the cluster, a service, or a workload, as NAMESPACE/NAME.
	Subject string `json:"subject"`
	// Message says it in a sentence, with the way out.
	Message string `json:"message"`
}

// Codes of holds.
const (
	NotHeard       = "NotHeard"       // what runs there is not known, or the hub cannot write there
	NotDrained     = "NotDrained"     // it is in service
	Draining       = "Draining"       // its drain has not finished
	NotSafe        = "NotSafe"        // it is drained, and something still arrives there
	TrafficRemains = "TrafficRemains" // proxies may still send there
	PodsRemain     = "PodsRemain"     // pods run there behind a global service
	ReplicasRemain = "ReplicasRemain" // replicas of a federated workload stand there, or are planned
	StillHeard     = "StillHeard"     // force is for a member that is gone
)

// Holds says what keeps a member from leaving now, most important first; nothing: it may go. It is what is asked before a
// Cluster is deleted.
func Holds(f *Fleet) []Hold {
	if f.untouched() {
		return nil
	}
	out := f.contact()
	out = append(out, f.drain()...)
	out = append(out, f.behindServices()...)
	return append(out, f.replicas()...)
}

// HoldsForced says what keeps a member from being given up.
func HoldsForced(f *Fleet) []Hold {
	if !meta.IsStatusConditionTrue(f.Cluster.Status.Conditions, v1alpha1.ConditionReady) {
		return nil
	}
	name := f.Cluster.Name
	return []Hold{{StillHeard, name, fmt.Sprintf(
		"--force gives up a member that is gone for good, and %s is heard and can be written to: leave --force out, and what weir put there is taken away", name)}}
}

// untouched says whether the member's agent was never heard and nothing was ever placed there: there is nothing to drain.
func (f *Fleet) untouched() bool {
	return f.Cluster.Status.Agent == nil && len(f.traffic()) == 0 && len(f.replicas()) == 0 && len(f.Works) == 0
}

// contact holds a member of which nobody knows what runs there, or that cannot be written to.
func (f *Fleet) contact() []Hold {
	name := f.Cluster.Name
	ready := meta.FindStatusCondition(f.Cluster.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return []Hold{{NotHeard, name, "the hub has not looked at it yet: try again in a moment"}}
	}
	switch {
	case ready.Status == metav1.ConditionTrue, ready.Reason == "IstioClusterIDDiffers", ready.Reason == v1alpha1.ReasonNotSupported:
		return nil
	case ready.Status == metav1.ConditionUnknown:
		return []Hold{{NotHeard, name, fmt.Sprintf(
			"it is not heard (%s), so what runs there is not known and nothing can be taken away: bring it back; or, where it is gone for good, kubectl weir unjoin %s --force", ready.Reason, name)}}
	}
	return []Hold{{NotHeard, name, fmt.Sprintf(
		"the hub cannot write there (%s: %s): mend that; or, where it is gone for good, kubectl weir unjoin %s --force", ready.Reason, ready.Message, name)}}
}

// drain holds a member that is not out of service, proven and safe.
func (f *Fleet) drain() []Hold {
	name := f.Cluster.Name
	var d *v1alpha1.ClusterDrain
	for i := range f.Drains {
		x := &f.Drains[i]
		if x.Spec.ClusterName == name && x.Status.Goal != "" && (d == nil || x.CreationTimestamp.Before(&d.CreationTimestamp)) {
			d = x
		}
	}
	switch {
	case d == nil:
		return []Hold{{NotDrained, name, fmt.Sprintf("it is in service: kubectl weir drain %s", name)}}
	case d.Status.Goal != v1alpha1.GoalDrain || d.Spec.Desired == v1alpha1.InService || !d.DeletionTimestamp.IsZero():
		return []Hold{{NotDrained, name, fmt.Sprintf("it is being given back (%s): wait until that is done, then kubectl weir drain %s", d.Status.Goal, name)}}
	}
	drained := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionDrained)
	switch {
	case drained == nil || drained.Status != metav1.ConditionTrue:
		why := "it has not been judged yet"
		if drained != nil {
			why = drained.Message
		}
		return []Hold{{Draining, name, fmt.Sprintf("its drain is at %s: %s; kubectl weir drain %s waits for its end", cmp.Or(d.Status.Progress, "the beginning"), why, name)}}
	case d.Status.SafeToPowerOff == nil || !*d.Status.SafeToPowerOff:
		return []Hold{{NotSafe, name, drained.Message}}
	}
	return nil
}

// traffic names the services that count the member, with the most of its traffic that any proxy may still send there.
func (f *Fleet) traffic() []Hold {
	var out []Hold
	for i := range f.Services {
		gs := &f.Services[i]
		if gs.Annotations[v1alpha1.AnnotationReleased] != "" {
			continue // no member has it any more: what its status says is of before.
		}
		for _, c := range gs.Status.Clusters {
			if c.Name != f.Cluster.Name {
				continue
			}
			key := gs.Namespace + "/" + gs.Name
			text := fmt.Sprintf("%s counts it still, with no traffic: the hub leaves it out in a moment", key)
			if most := max(c.Weight.Wanted, c.Weight.ProvenHigh); most > 0 {
				text = fmt.Sprintf("up to %d.%d%% of the requests to %s may still go there: kubectl weir status %s says what is waited for", most/10, most%10, key, key)
			}
			out = append(out, Hold{TrafficRemains, key, text})
		}
	}
	return out
}

// behindServices holds a member in which pods are behind a global service, or may be sent to.
func (f *Fleet) behindServices() []Hold {
	var out []Hold
	for i := range f.Services {
		gs := &f.Services[i]
		for _, c := range gs.Status.Clusters {
			if c.Name != f.Cluster.Name {
				continue
			}
			key := gs.Namespace + "/" + gs.Name
			if c.Weight.Wanted > 0 || c.Weight.ProvenHigh > 0 {
				out = append(out, Hold{TrafficRemains, key, fmt.Sprintf("proxies may still send requests to %s there: kubectl weir status %s says what is waited for", key, key)})
			}
			if c.Replicas <= 0 && c.Ready <= 0 {
				continue
			}
			if len(c.Workloads) == 0 {
				out = append(out, Hold{PodsRemain, key, f.ownPods(hub.Count(max(c.Replicas, c.Ready), "pod"), key)})
				continue
			}
			out = append(out, Hold{PodsRemain, key, fmt.Sprintf(
				"%s behind %s there, run by %s, which weir does not own: scale that to 0 there, or make the Service local (kubectl -n %s annotate service %s %s- in %s); the fence comes off what runs on",
				hub.Count(max(c.Replicas, c.Ready), "pod"), key, strings.Join(c.Workloads, ", "), gs.Namespace, gs.Name, v1alpha1.AnnotationGlobal, f.Cluster.Name)})
		}
	}
	return out
}

// ownPods says of pods that weir owns what ends them: a drain alone does.
func (f *Fleet) ownPods(pods, key string) string {
	if slices.ContainsFunc(f.drain(), func(h Hold) bool { return h.Code == NotDrained }) {
		return fmt.Sprintf("%s behind %s there: kubectl weir drain %s brings others up elsewhere and takes these away; without it they stay", pods, key, f.Cluster.Name)
	}
	return fmt.Sprintf("%s behind %s still there: the drain takes them away by itself", pods, key)
}

// replicas holds a member in which replicas of a federated workload stand, or are planned.
func (f *Fleet) replicas() []Hold {
	var out []Hold
	add := func(namespace, name, text string) {
		key := namespace + "/" + name
		if !slices.ContainsFunc(out, func(h Hold) bool { return h.Subject == key }) {
			out = append(out, Hold{ReplicasRemain, key, fmt.Sprintf("%s: kubectl weir explain fdep %s says what is waited for", text, key)})
		}
	}
	for i := range f.Bindings {
		b := &f.Bindings[i]
		planned, stands := int32(0), int32(0)
		for _, p := range b.Spec.Plan {
			if p.Name == f.Cluster.Name {
				planned = p.Replicas
			}
		}
		for _, row := range b.Status.Clusters {
			if row.Name == f.Cluster.Name && row.Sync != v1alpha1.SyncConflict {
				stands = max(row.Applied, row.Ready)
			}
		}
		if planned > 0 || stands > 0 {
			add(b.Spec.Resource.Namespace, b.Spec.Resource.Name, fmt.Sprintf("%s of %s %s/%s there, and %d planned",
				hub.Count(stands, "replica"), b.Spec.Resource.Kind, b.Spec.Resource.Namespace, b.Spec.Resource.Name, planned))
		}
	}
	for i := range f.Works {
		w := &f.Works[i]
		if n := recorded(w); n > 0 {
			namespace, name := w.Labels[v1alpha1.LabelWorkNamespace], w.Labels[v1alpha1.LabelWorkName]
			add(namespace, name, fmt.Sprintf("%s of Deployment %s/%s on record there", hub.Count(n, "replica"), namespace, name))
		}
	}
	return out
}

// recorded is how many replicas a Work says that its member shall have.
func recorded(w *v1alpha1.Work) int32 {
	var total int32
	for _, m := range w.Spec.Workload.Manifests {
		var d struct {
			Kind string `json:"kind"`
			Spec struct {
				Replicas int32 `json:"replicas"`
			} `json:"spec"`
		}
		if json.Unmarshal(m.Raw, &d) == nil && d.Kind == "Deployment" && d.Spec.Replicas > 0 {
			total += d.Spec.Replicas
		}
	}
	return total
}
