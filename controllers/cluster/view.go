// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/resview/stream"
	"github.com/weir-io/weir/resview/view"
)

const (
	// viewGrain is how old the summary of a view may be while nothing much changes.
	viewGrain = time.Minute
	// viewRest is how long the summary stands after it was written, whatever changes.
	viewRest = 5 * time.Second
	// viewStep is by how much of itself, in percent, a sum must change to be written before viewGrain is over.
	viewStep = 5
)

// summaryOf returns what status says of a member's view: the summary that stands, or a new one when it is due. A view
// that the hub does not have, as after it was started anew, leaves the one that stands.
func summaryOf(was *v1alpha1.ViewSummary, v stream.MemberView, now time.Time) *v1alpha1.ViewSummary {
	if v.View == nil {
		return was
	}
	if was != nil && was.TrueAt != nil && !due(was, v, now) {
		return was
	}
	return summed(v, now)
}

// due says whether a summary is to be written anew. While a view is confirmed that is seldom; one that grows old is told
// by each step of its confidence, and once as it was last.
func due(was *v1alpha1.ViewSummary, v stream.MemberView, now time.Time) bool {
	lasted := v.ConfirmedAt.Sub(was.TrueAt.Time)
	switch {
	case was.ConfidencePercent != confidence(v, now), lasted < 0, lasted > viewGrain:
		return true
	case lasted < viewRest && v.InStep:
		return false
	}
	return muchChanged(was, v.View) || !v.InStep && was.Version != int64(v.View.Version()) //nolint:gosec // Bounded by the wire.
}

func summed(v stream.MemberView, now time.Time) *v1alpha1.ViewSummary {
	_, usable := v.View.Nodes()
	trueAt := hub.Time(v.ConfirmedAt)
	out := &v1alpha1.ViewSummary{
		Version: int64(v.View.Version()), TrueAt: &trueAt, ConfidencePercent: confidence(v, now), //nolint:gosec // Bounded by the wire.
		Nodes:       int32(usable), //nolint:gosec // At most view.MaxNodes.
		Allocatable: listOf(v.View.Allocatable()), Allocated: listOf(v.View.Allocated()),
	}
	for _, f := range v.View.Largest(v1alpha1.MaxFreeShapes) {
		out.LargestFree = append(out.LargestFree, v1alpha1.FreeShape{Nodes: int32(f.Nodes), Free: listOf(f.Amounts)}) //nolint:gosec // At most view.MaxNodes.
	}
	return out
}

// confidence is told in steps of a quarter of what a fresh view has: each is a write.
func confidence(v stream.MemberView, now time.Time) int32 {
	const step = 25
	return int32((v.Confidence(now) + step - 1) / step * step) //nolint:gosec // At most 100.
}

// muchChanged says whether a view is so different from its summary that nobody should wait for it.
func muchChanged(was *v1alpha1.ViewSummary, v *view.View) bool {
	if _, usable := v.Nodes(); int32(usable) != was.Nodes { //nolint:gosec // At most view.MaxNodes.
		return true
	}
	return differs(was.Allocatable, v.Allocatable()) || differs(was.Allocated, v.Allocated())
}

func differs(was corev1.ResourceList, now view.Amounts) bool {
	if len(was) != len(now) {
		return true
	}
	for _, m := range now {
		q, known := was[corev1.ResourceName(m.Name)]
		before := q.Value()
		if m.Name == view.CPU {
			before = q.MilliValue()
		}
		if diff := max(m.Value-before, before-m.Value); !known || diff > before/100*viewStep {
			return true
		}
	}
	return false
}

// listOf writes amounts as Kubernetes does.
func listOf(amounts view.Amounts) corev1.ResourceList {
	out := make(corev1.ResourceList, len(amounts))
	for _, m := range amounts {
		switch m.Name {
		case view.CPU:
			out[corev1.ResourceCPU] = *resource.NewMilliQuantity(m.Value, resource.DecimalSI)
		case view.Memory, view.EphemeralStorage:
			out[corev1.ResourceName(m.Name)] = *resource.NewQuantity(m.Value, resource.BinarySI)
		default:
			out[corev1.ResourceName(m.Name)] = *resource.NewQuantity(m.Value, resource.DecimalSI)
		}
	}
	return out
}
