// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/controllers/fleettest"
)

func podBench(t *testing.T) (*bench, func() map[string]string) {
	t.Helper()
	b, pod := annotatedBench(t)
	return b, func() map[string]string { return pod().Labels }
}

func annotatedBench(t *testing.T) (*bench, func() corev1.Pod) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "echo-1", UID: "u1", Labels: map[string]string{"app": "echo"}}}
	b := newBench(t, pod)
	return b, func() corev1.Pod {
		t.Helper()
		var got corev1.Pod
		if err := b.server.Store.Get(t.Context(), client.ObjectKeyFromObject(pod), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
}

func TestALabelIsPutOnThePodAndTakenOffAgain(t *testing.T) {
	b, pod := annotatedBench(t)
	m := b.open(t)
	for _, value := range []string{"true", ""} {
		if err := m.LabelPod(t.Context(), manager, "demo", "echo-1", "u1", "fence", value, map[string]string{"cost": value}); err != nil {
			t.Fatal(err)
		}
		got := pod()
		_, there := got.Labels["fence"]
		_, costs := got.Annotations["cost"]
		if got.Labels["fence"] != value || there != (value != "") || costs != there || got.Labels["app"] != "echo" {
			t.Errorf("with %q: %v, %v", value, got.Labels, got.Annotations)
		}
	}
}

func TestAPodThatTookTheNameSinceIsLeftAlone(t *testing.T) {
	b, labels := podBench(t)
	if err := b.open(t).LabelPod(t.Context(), manager, "demo", "echo-1", "older", "fence", "true", nil); err != nil {
		t.Fatal(err)
	}
	if got := labels(); got["fence"] != "" {
		t.Errorf("labels %v", got)
	}
}

func TestAPodThatCannotBeLabelledIsAnErrorUnlessItIsGoneOrAnother(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	cases := map[string]struct {
		answer error
		fails  bool
	}{
		"gone":               {apierrors.NewNotFound(pods, "echo-1"), false},
		"conflict":           {apierrors.NewConflict(pods, "echo-1", errors.New("uid")), false},
		"UID is immutable":   {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "echo-1", field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), "u1", "field is immutable")}), false},
		"label is malformed": {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "echo-1", field.ErrorList{field.Invalid(field.NewPath("metadata", "labels"), "x", "bad")}), true},
		"forbidden":          {apierrors.NewForbidden(pods, "echo-1", errors.New("no right")), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b, _ := podBench(t)
			b.server.Fail(func(fleettest.Request) error { return c.answer })
			err := b.open(t).LabelPod(t.Context(), manager, "demo", "echo-1", types.UID("u1"), "fence", "true", nil)
			if (err != nil) != c.fails {
				t.Fatalf("got %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), `cluster "c1": label pod demo/echo-1`) {
				t.Errorf("%q does not say which pod", err)
			}
		})
	}
}
