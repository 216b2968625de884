// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// What weir leaves on an autoscaler while its limits are lowered: by the label admission policies find it, and the
// annotation holds the limits to give back.
const (
	LabelLimits      = "weir.io/limits"
	LabelLimitsValue = "lowered"
	AnnotationLimits = "weir.io/autoscaler-limits"
)

// Amendment is a change to an object that somebody else made. Of labels and annotations, an empty value takes the key off;
// of the spec, nil takes the field off. What is not named here stays as it is.
type Amendment struct {
	Labels, Annotations map[string]string
	Spec                map[string]any
}

// Amend changes an object that somebody else made, in one write, on top of the version that was read, and returns it as it
// then stands. An object that has changed since, or is another by now, is a conflict.
func (m *Member) Amend(ctx context.Context, manager string, ref Ref, live *unstructured.Unstructured, change Amendment) (*unstructured.Unstructured, error) {
	epoch, err := m.permit(ctx, ref)
	if err != nil {
		return nil, err
	}
	labels, annotations := map[string]any{}, map[string]any{}
	for k, v := range change.Labels {
		labels[k] = orNull(v)
	}
	for k, v := range change.Annotations {
		annotations[k] = orNull(v)
	}
	for k, v := range marksOf(nil, m.term.hubUID, epoch) {
		annotations[k] = v
	}
	body := map[string]any{"metadata": map[string]any{
		"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "labels": labels, "annotations": annotations,
	}}
	if len(change.Spec) > 0 {
		body["spec"] = maps.Clone(change.Spec)
	}
	patch, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("cluster %q: change %s: %w", m.name, ref, err)
	}
	out, err := m.resource(ref).Patch(ctx, ref.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
	m.note(err)
	if err != nil {
		return nil, fmt.Errorf("cluster %q: change %s: %w", m.name, ref, err)
	}
	return out, nil
}
