// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/weir-io/weir/resview/view"
)

// nodeOf reads a node: what pods may take, what is kept from them, and what it says of itself. What pods have taken is not
// in it.
func nodeOf(n *corev1.Node) *view.Node {
	reserved := map[string]int64{}
	allocatable := numbers(n.Status.Allocatable)
	for name, has := range numbers(n.Status.Capacity) {
		reserved[name] = has - allocatable[name]
	}
	out := &view.Node{
		Name: n.Name, Allocatable: amounts(allocatable), Reserved: amounts(reserved), Labels: labelsOf(n),
	}
	for _, t := range n.Spec.Taints[:min(len(n.Spec.Taints), view.MaxTaints)] {
		out.Taints = append(out.Taints, view.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}
	for _, c := range n.Status.Conditions {
		if kind := slices.Index(view.ConditionNames[:], string(c.Type)); kind >= 0 {
			out.Conditions = out.Conditions.With(view.Condition(kind), statusOf(c.Status))
		}
	}
	return out
}

// labelsOf leaves out the host name where it says the node's name again: with it no two nodes would be alike.
func labelsOf(n *corev1.Node) []view.Label {
	var out []view.Label
	for _, key := range slices.Sorted(maps.Keys(n.Labels)) {
		if value := n.Labels[key]; key != corev1.LabelHostname || value != n.Name {
			out = append(out, view.Label{Key: key, Value: value})
		}
	}
	return out[:min(len(out), view.MaxLabels)]
}

func statusOf(s corev1.ConditionStatus) view.Status {
	switch s {
	case corev1.ConditionTrue:
		return view.True
	case corev1.ConditionFalse:
		return view.False
	default:
		return view.Unknown
	}
}

// requestsOf is what a pod takes on its node, itself as one pod included.
func requestsOf(p *corev1.Pod) view.Amounts {
	// Status counts where a resize in place is under way: until it is done the node holds the larger of both.
	m := numbers(resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{UseStatusResources: true}))
	m[view.Pods] = 1
	return amounts(m)
}

// numbers counts CPU in thousandths of a core and everything else in whole units, rounded up.
func numbers(list corev1.ResourceList) map[string]int64 {
	out := make(map[string]int64, len(list))
	for name, q := range list {
		if name == corev1.ResourceCPU {
			out[string(name)] = q.MilliValue()
		} else {
			out[string(name)] = q.Value()
		}
	}
	return out
}

// amounts keeps what is told within bounds: nothing is negative, nothing more than a view can add up, and of very many
// resources those are kept that every node has.
func amounts(m map[string]int64) view.Amounts {
	for name, n := range m {
		m[name] = min(max(n, 0), view.MaxAmount)
	}
	out := view.MakeAmounts(m)
	if len(out) <= view.MaxAmounts {
		return out
	}
	common := []string{view.CPU, view.Memory, view.Pods, view.EphemeralStorage}
	slices.SortStableFunc(out, func(a, b view.Amount) int {
		return boolRank(slices.Contains(common, b.Name)) - boolRank(slices.Contains(common, a.Name))
	})
	out = out[:view.MaxAmounts]
	slices.SortFunc(out, func(a, b view.Amount) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}
