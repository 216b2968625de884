// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
)

var scalerRef = Ref{
	Resource: schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}, Namespace: "demo", Name: "web",
}

func scalerBench(t *testing.T) (*bench, *unstructured.Unstructured, func() autoscalingv2.HorizontalPodAutoscaler) {
	t.Helper()
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web", UID: "u1", Labels: map[string]string{"app": "web"}}}
	h.Spec.MinReplicas, h.Spec.MaxReplicas = new(int32(2)), 6
	b := newBench(t, h)
	live, err := b.open(t).Read(t.Context(), scalerRef)
	if err != nil {
		t.Fatal(err)
	}
	return b, live, func() autoscalingv2.HorizontalPodAutoscaler {
		t.Helper()
		var got autoscalingv2.HorizontalPodAutoscaler
		if err := b.server.Store.Get(t.Context(), client.ObjectKeyFromObject(h), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
}

func TestAnAmendmentChangesWhatItNamesInOneWriteAndNothingElse(t *testing.T) {
	b, live, now := scalerBench(t)
	m := b.open(t)
	b.server.Requests()
	change := Amendment{
		Labels: map[string]string{LabelLimits: LabelLimitsValue}, Annotations: map[string]string{AnnotationLimits: "kept"}, Spec: map[string]any{"maxReplicas": 1},
	}
	live, err := m.Amend(t.Context(), manager, scalerRef, live, change)
	if err != nil {
		t.Fatal(err)
	}
	got := now()
	if got.Spec.MaxReplicas != 1 || *got.Spec.MinReplicas != 2 || got.Labels["app"] != "web" || got.Labels[LabelLimits] != LabelLimitsValue ||
		got.Annotations[AnnotationLimits] != "kept" || got.Annotations[v1alpha1.AnnotationEpoch] != "1" || Managed(live) {
		t.Errorf("%+v", got)
	}
	change = Amendment{
		Labels: map[string]string{LabelLimits: ""}, Annotations: map[string]string{AnnotationLimits: ""}, Spec: map[string]any{"maxReplicas": 6, "minReplicas": nil},
	}
	if _, err := m.Amend(t.Context(), manager, scalerRef, live, change); err != nil {
		t.Fatal(err)
	}
	got = now()
	_, labelled := got.Labels[LabelLimits]
	_, noted := got.Annotations[AnnotationLimits]
	if got.Spec.MaxReplicas != 6 || got.Spec.MinReplicas != nil || labelled || noted {
		t.Errorf("%+v", got)
	}
	if writes := b.server.Writes(); len(writes) != 2 {
		t.Errorf("wrote %v", writes)
	}
}

func TestAnAmendmentOfWhatHasChangedSinceIsAConflict(t *testing.T) {
	b, live, now := scalerBench(t)
	edit := now()
	edit.Spec.MaxReplicas = 9
	if err := b.server.Store.Update(t.Context(), &edit); err != nil {
		t.Fatal(err)
	}
	_, err := b.open(t).Amend(t.Context(), manager, scalerRef, live, Amendment{Spec: map[string]any{"maxReplicas": 1}})
	if !apierrors.IsConflict(err) || now().Spec.MaxReplicas != 9 {
		t.Errorf("%v, and the maximum is %d", err, now().Spec.MaxReplicas)
	}
}

func TestAnAmendmentThatIsRefusedNamesTheObject(t *testing.T) {
	b, live, _ := scalerBench(t)
	b.server.Fail(func(fleettest.Request) error {
		return apierrors.NewForbidden(scalerRef.Resource.GroupResource(), "web", errors.New("no right"))
	})
	_, err := b.open(t).Amend(t.Context(), manager, scalerRef, live, Amendment{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `cluster "c1": change horizontalpodautoscalers demo/web`) {
		t.Errorf("got %v", err)
	}
}

// An older leader's order must not reach an autoscaler that a newer one has taken.
func TestAnAmendmentBearsTheEpoch(t *testing.T) {
	b, live, now := scalerBench(t)
	m := b.open(t)
	change := Amendment{Labels: map[string]string{LabelLimits: LabelLimitsValue}, Spec: map[string]any{"maxReplicas": 1}}
	newer := NewDoor(b.hub, "weir-system", NewTerm("hub", &fleettest.Epochs{}))
	if _, err := newer.Open(t.Context(), b.cluster); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Amend(t.Context(), manager, scalerRef, live, change); err == nil || now().Spec.MaxReplicas != 6 {
		t.Errorf("%v, and the maximum is %d", err, now().Spec.MaxReplicas)
	}
}
