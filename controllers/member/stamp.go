// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
)

// marksOf returns annotations with those of a hub and an epoch.
func marksOf(annotations map[string]string, hubUID string, epoch int64) map[string]string {
	out := maps.Clone(annotations)
	if out == nil {
		out = map[string]string{}
	}
	out[v1alpha1.AnnotationHub], out[v1alpha1.AnnotationEpoch] = hubUID, strconv.FormatInt(epoch, 10)
	return out
}

// permit returns the epoch that a write of ref bears, or why nothing may be written.
func (m *Member) permit(ctx context.Context, ref Ref) (int64, error) {
	if !m.hold.stands(m.term.Epoch()) {
		if err := m.take(ctx); err != nil { // the term has taken a higher one since the member was opened.
			return 0, err
		}
	}
	if ref.Resource.Group == "admissionregistration.k8s.io" {
		// An API server exempts policies from policies, so for these the hub itself compares, right before it writes.
		if err := m.look(ctx); err != nil {
			return 0, err
		}
	}
	return m.Held()
}

// stamp puts the term's mark on what is to be written.
func (m *Member) stamp(want *unstructured.Unstructured, epoch int64) {
	want.SetAnnotations(marksOf(want.GetAnnotations(), m.term.hubUID, epoch))
}

// stamped says whether an object bears the term's mark.
func (m *Member) stamped(live *unstructured.Unstructured, epoch int64) bool {
	a := live.GetAnnotations()
	return a[v1alpha1.AnnotationHub] == m.term.hubUID && a[v1alpha1.AnnotationEpoch] == strconv.FormatInt(epoch, 10)
}

// claim writes the term's mark on an object, if it does not bear it, and returns the object as it then stands. What follows
// names that version, and so cannot happen after a newer leader has written the object, or, where a policy looks at what
// stands, after one has taken the member.
func (m *Member) claim(ctx context.Context, ref Ref, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	epoch, err := m.permit(ctx, ref)
	if err != nil || m.stamped(live, epoch) {
		return live, err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "annotations": marksOf(nil, m.term.hubUID, epoch),
	}})
	if err != nil {
		return nil, fmt.Errorf("cluster %q: mark %s: %w", m.name, ref, err)
	}
	out, err := m.resource(ref).Patch(ctx, ref.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: EpochManager})
	m.note(err)
	return out, err
}

// onlyMarks says whether an apply was refused for nothing but who wrote the epoch before: claim did.
func onlyMarks(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	found := false
	for _, c := range status.Status().Details.Causes {
		if c.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		switch c.Field {
		case ".metadata.annotations." + v1alpha1.AnnotationEpoch, ".metadata.annotations." + v1alpha1.AnnotationHub:
			found = true
		default:
			return false
		}
	}
	return found
}
