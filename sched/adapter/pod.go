// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/view"
	"github.com/weir-io/weir/sched/dimension"
	"github.com/weir-io/weir/sched/fit"
	"github.com/weir-io/weir/sched/match"
)

// Requests are what one pod of a template requests of its node, as the scheduler of Kubernetes counts it: containers,
// sidecars, init containers and overhead; where a container states only a limit, that.
func Requests(template *corev1.PodTemplateSpec) corev1.ResourceList {
	pod := &corev1.Pod{Spec: *template.Spec.DeepCopy()}
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			r := &containers[i].Resources
			for name, limit := range r.Limits {
				if _, stated := r.Requests[name]; !stated {
					if r.Requests == nil {
						r.Requests = corev1.ResourceList{}
					}
					r.Requests[name] = limit
				}
			}
		}
	}
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
}

// amounts are quantities as whole numbers, none below 0.
func amounts(list corev1.ResourceList) dimension.Amounts {
	out := make(dimension.Amounts, len(list))
	for name, quantity := range list {
		value := quantity.Value()
		if name == corev1.ResourceCPU && value <= view.MaxAmount/1000 {
			value = quantity.MilliValue()
		}
		out[string(name)] = min(max(value, 0), view.MaxAmount)
	}
	return out
}

// requirements are what a pod spec asks of its node besides resources. Nil: nothing.
func requirements(spec *corev1.PodSpec) *v1alpha1.NodeRequirements {
	out := &v1alpha1.NodeRequirements{NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations}
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		out.NodeAffinity = spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if len(out.NodeSelector) == 0 && out.NodeAffinity == nil && len(out.Tolerations) == 0 {
		return nil
	}
	return out
}

// pod is what a seeker of places needs to know of a pod.
func pod(need corev1.ResourceList, r *v1alpha1.NodeRequirements) fit.Pod {
	out := fit.Pod{Need: amounts(need)}
	if r == nil {
		return out
	}
	var labels match.Selector
	for _, key := range slices.Sorted(maps.Keys(r.NodeSelector)) {
		labels = append(labels, match.Requirement{Key: key, Operator: match.In, Values: []string{r.NodeSelector[key]}})
	}
	switch {
	case r.NodeAffinity != nil:
		out.Nodes = match.Any{impossible}
		for _, term := range r.NodeAffinity.NodeSelectorTerms {
			out.Nodes = append(out.Nodes, append(slices.Clone(labels), nodeTerm(term)...))
		}
	case len(labels) > 0:
		out.Nodes = match.Any{labels}
	}
	for _, t := range r.Tolerations {
		out.Tolerations = append(out.Tolerations, match.Toleration{
			Key: t.Key, Value: t.Value, Exists: t.Operator == corev1.TolerationOpExists, Effect: match.Effect(t.Effect),
		})
	}
	return out
}

// impossible is met by no node.
var impossible = match.Selector{{}}

func nodeTerm(term corev1.NodeSelectorTerm) match.Selector {
	if len(term.MatchFields) > 0 || len(term.MatchExpressions) == 0 {
		return impossible
	}
	var out match.Selector
	for _, e := range term.MatchExpressions {
		out = append(out, match.Requirement{Key: e.Key, Operator: match.Operator(e.Operator), Values: e.Values})
	}
	return out
}

// apart reports whether no two pods of a template may be on one node: because of a port of the node, or because they
// keep away from each other.
func apart(template *corev1.PodTemplateSpec) bool {
	for i := range template.Spec.Containers {
		for _, port := range template.Spec.Containers[i].Ports {
			if port.HostPort != 0 || template.Spec.HostNetwork {
				return true
			}
		}
	}
	if template.Spec.Affinity == nil || template.Spec.Affinity.PodAntiAffinity == nil {
		return false
	}
	for _, term := range template.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
		if err == nil && term.TopologyKey == corev1.LabelHostname && len(term.Namespaces) == 0 && term.NamespaceSelector == nil && selector.Matches(labels.Set(template.Labels)) {
			return true
		}
	}
	return false
}
