// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/pb"
)

func applied(status map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "federation.weir.io", Version: "v1alpha1", Kind: "GlobalService"})
	u.SetNamespace("demo")
	u.SetName("echo")
	return u
}

func TestAStatusThatTheDefinitionForbidsIsRefused(t *testing.T) {
	gs := &v1alpha1.GlobalService{}
	gs.Namespace, gs.Name = "demo", "echo"
	cases := map[string]struct {
		status  map[string]any
		allowed bool
	}{
		"fits":           {map[string]any{"foreign": []any{strings.Repeat("x", 1024)}}, true},
		"text too long":  {map[string]any{"foreign": []any{strings.Repeat("x", 1025)}}, false},
		"no such level":  {map[string]any{"weights": map[string]any{"level": "Maybe"}}, false},
		"one host twice": {map[string]any{"hosts": []any{"a", "a"}}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			hub := Hub(t, interceptor.Funcs{}, gs.DeepCopy())
			err := hub.Status().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied(c.status)), client.FieldOwner("m"))
			if (err == nil) != c.allowed {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAnUpdateOfAnOlderVersionIsAConflict(t *testing.T) {
	gs := &v1alpha1.GlobalService{}
	gs.Namespace, gs.Name = "demo", "echo"
	hub := Hub(t, interceptor.Funcs{}, gs)
	if err := hub.Get(t.Context(), client.ObjectKeyFromObject(gs), gs); err != nil {
		t.Fatal(err)
	}
	older := gs.DeepCopy()
	gs.Spec.Generation = 1
	if err := hub.Update(t.Context(), gs); err != nil {
		t.Fatal(err)
	}
	if err := hub.Update(t.Context(), older); !apierrors.IsConflict(err) {
		t.Errorf("got %v", err)
	}
}

func TestWhatAnAgentSaysIsHeardAndItsEndIsNoticed(t *testing.T) {
	link := NewLink(t)
	agent := link.Join(t, "c1", &pb.MemberFacts{Network: "n1"})
	if got := link.Server.Snapshot("c1").Member.Value.GetNetwork(); got != "n1" {
		t.Errorf("network %q", got)
	}
	link.Leave(t, "c1", agent)
	if got := link.Server.Snapshot("c1").Member.Value.GetNetwork(); got != "n1" {
		t.Errorf("after the end: network %q", got)
	}
}
