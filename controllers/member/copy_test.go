// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/controllers/fleettest"
)

func (b *bench) overwrite(t *testing.T, want *unstructured.Unstructured, hash string) error {
	t.Helper()
	m := b.open(t)
	live, err := m.Read(t.Context(), ruleRef)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Overwrite(t.Context(), manager, ruleRef, want, live, hash)
	return err
}

func TestACopyOverwritesEditsOfWhatItStatesAndNothingElse(t *testing.T) {
	b := newBench(t)
	if err := b.overwrite(t, rule(t, `{"hosts": ["echo"]}`), "h1"); err != nil {
		t.Fatal(err)
	}
	b.edit(t, "kubectl-edit", func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedStringSlice(u.Object, []string{"other"}, "spec", "hosts")
		_ = unstructured.SetNestedField(u.Object, "mesh", "spec", "note")
	})
	if err := b.overwrite(t, rule(t, `{"hosts": ["echo"]}`), "h2"); err != nil {
		t.Fatal(err)
	}
	got := b.stored(t)
	if hosts := valueAt(got, "spec", "hosts"); len(hosts.([]any)) != 1 || hosts.([]any)[0] != "echo" {
		t.Errorf("hosts are %v", hosts)
	}
	if valueAt(got, "spec", "note") != "mesh" || got.GetAnnotations()[AnnotationApplied] != "h2" || !Managed(got) {
		t.Errorf("got %v", got.Object)
	}
}

func TestACopyIsNeverWrittenOverAnObjectOfSomebodyElse(t *testing.T) {
	b := newBench(t)
	if err := b.server.Store.Create(t.Context(), rule(t, `{"hosts": ["theirs"]}`), client.FieldOwner("argocd")); err != nil {
		t.Fatal(err)
	}
	wantForeign(t, b.overwrite(t, rule(t, `{"hosts": ["echo"]}`), "h"), "argocd", "not made by weir")
	if writes := b.server.Writes(); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
}

func TestACopyIsNotWrittenOnTopOfAVersionThatNobodyRead(t *testing.T) {
	b := newBench(t)
	if err := b.overwrite(t, rule(t, `{"hosts": ["echo"]}`), "h1"); err != nil {
		t.Fatal(err)
	}
	changed := false
	b.server.Fail(func(r fleettest.Request) error {
		if r.Method == http.MethodPatch && !changed {
			changed = true
			b.edit(t, "kubectl-edit", func(u *unstructured.Unstructured) { _ = unstructured.SetNestedField(u.Object, "9s", "spec", "timeout") })
		}
		return nil
	})
	if err := b.overwrite(t, rule(t, `{"hosts": ["echo"], "timeout": "5s"}`), "h2"); !apierrors.IsConflict(err) {
		t.Fatalf("got %v", err)
	}
	if v := valueAt(b.stored(t), "spec", "timeout"); v != "9s" {
		t.Errorf("timeout is %v", v)
	}
}

func TestWhatDoesNotStandIsReadAsNothing(t *testing.T) {
	b := newBench(t)
	if live, err := b.open(t).Read(t.Context(), ruleRef); live != nil || err != nil {
		t.Errorf("%v, %v", live, err)
	}
	if all, err := b.open(t).List(t.Context(), ruleRef, ""); len(all) > 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
	if err := b.overwrite(t, rule(t, `{"hosts": ["echo"]}`), "h1"); err != nil {
		t.Fatal(err)
	}
	if all, err := b.open(t).List(t.Context(), ruleRef, ""); len(all) != 1 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
}
