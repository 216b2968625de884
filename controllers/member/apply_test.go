// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/controllers/fleettest"
)

func TestNothingIsWrittenThatStandsAlready(t *testing.T) {
	b := newBench(t)
	want := rule(t, `{"hosts": ["echo"], "http": [{"timeout": "5s", "weight": 1}]}`)
	if wrote, err := b.apply(t, want); !wrote || err != nil {
		t.Fatalf("first: %t, %v", wrote, err)
	}
	if wrote, err := b.apply(t, want); wrote || err != nil {
		t.Errorf("again: %t, %v", wrote, err)
	}
	if v := b.stored(t).GetLabels()[LabelManaged]; v != LabelManagedValue {
		t.Errorf("label %q", v)
	}
	if len(want.GetLabels()) > 0 {
		t.Error("the caller's object was changed")
	}
}

func TestWhatOthersAddBesideOursIsLeft(t *testing.T) {
	b := newBench(t)
	want := rule(t, `{"hosts": ["echo"]}`)
	if _, err := b.apply(t, want); err != nil {
		t.Fatal(err)
	}
	b.edit(t, "kubectl-edit", func(u *unstructured.Unstructured) {
		u.SetAnnotations(map[string]string{"mine": "yes", AnnotationApplied: u.GetAnnotations()[AnnotationApplied]})
		_ = unstructured.SetNestedField(u.Object, "mesh", "spec", "note")
	})
	if wrote, err := b.apply(t, want); wrote || err != nil {
		t.Errorf("an addition of theirs made weir write: %t, %v", wrote, err)
	}
	if wrote, err := b.apply(t, rule(t, `{"hosts": ["echo", "other"]}`)); !wrote || err != nil {
		t.Fatalf("a change of ours: %t, %v", wrote, err)
	}
	if got := b.stored(t); valueAt(got, "spec", "note") != "mesh" || got.GetAnnotations()["mine"] != "yes" {
		t.Errorf("their addition is gone: %v", got.Object)
	}
}

func TestAFieldThatWeirNoLongerStatesGoesAway(t *testing.T) {
	b := newBench(t)
	if _, err := b.apply(t, rule(t, `{"hosts": ["echo"], "timeout": "5s"}`)); err != nil {
		t.Fatal(err)
	}
	if wrote, err := b.apply(t, rule(t, `{"hosts": ["echo"]}`)); !wrote || err != nil {
		t.Fatalf("%t, %v", wrote, err)
	}
	if v := valueAt(b.stored(t), "spec", "timeout"); v != nil {
		t.Errorf("timeout is %v", v)
	}
}

func TestAFieldThatSomebodyElseWroteIsNeverTakenFromThem(t *testing.T) {
	b := newBench(t)
	if _, err := b.apply(t, rule(t, `{"hosts": ["echo"], "timeout": "5s"}`)); err != nil {
		t.Fatal(err)
	}
	b.edit(t, "kubectl-edit", func(u *unstructured.Unstructured) { _ = unstructured.SetNestedField(u.Object, "9s", "spec", "timeout") })
	for name, text := range map[string]string{
		"put back as it was": `{"hosts": ["echo"], "timeout": "5s"}`,
		"set to a new value": `{"hosts": ["echo"], "timeout": "7s"}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.apply(t, rule(t, text))
			wantForeign(t, err, "kubectl-edit", "fields .spec.timeout")
			if v := valueAt(b.stored(t), "spec", "timeout"); v != "9s" {
				t.Errorf("timeout is %v", v)
			}
		})
	}
}

func TestAnObjectOfSomebodyElseIsLeftWhole(t *testing.T) {
	theirs := rule(t, `{"hosts": ["theirs"]}`)
	b := newBench(t)
	if err := b.server.Store.Create(t.Context(), theirs, client.FieldOwner("argocd")); err != nil {
		t.Fatal(err)
	}
	before := b.stored(t)
	wrote, err := b.apply(t, rule(t, `{"http": []}`))
	wantForeign(t, err, "argocd", "not made by weir")
	if wrote || len(b.server.Writes()) > 0 {
		t.Error("it was written to")
	}
	if deleted, err := b.open(t).Delete(t.Context(), ruleRef); deleted || err != nil {
		t.Errorf("delete: %t, %v", deleted, err)
	}
	if d := cmp.Diff(before.Object, b.stored(t).Object); d != "" {
		t.Error(d)
	}
}

func TestWhoMadeAnObjectIsNamedFirstAndWhoWritesItsStatusNever(t *testing.T) {
	entry := func(who, subresource string, minute int) metav1.ManagedFieldsEntry {
		at := metav1.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC)
		return metav1.ManagedFieldsEntry{Manager: who, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: subresource, Time: &at}
	}
	u := rule(t, "{}")
	u.SetManagedFields([]metav1.ManagedFieldsEntry{
		entry("kube-controller-manager", "status", 1), entry("autoscaler", "scale", 2), entry("weir-sync", "", 3),
		entry("argocd", "", 7), entry("helm", "", 5), entry("argocd", "", 6),
	})
	if d := cmp.Diff([]string{"helm", "argocd"}, managers(u)); d != "" {
		t.Error(d)
	}
	u.SetManagedFields(u.GetManagedFields()[:2])
	if d := cmp.Diff([]string{"an unknown writer"}, managers(u)); d != "" {
		t.Error(d)
	}
}

func TestAnObjectWithoutFieldManagersNamesAnUnknownWriter(t *testing.T) {
	got := managers(rule(t, "{}"))
	if d := cmp.Diff([]string{"an unknown writer"}, got); d != "" {
		t.Error(d)
	}
}

func TestDeleteTakesOnlyWhatWasRead(t *testing.T) {
	b := newBench(t)
	if _, err := b.apply(t, rule(t, `{"hosts": ["echo"]}`)); err != nil {
		t.Fatal(err)
	}
	changed := false
	b.server.Fail(func(r fleettest.Request) error {
		if r.Method == http.MethodDelete && !changed {
			changed = true
			b.edit(t, "kubectl-edit", func(u *unstructured.Unstructured) { u.SetLabels(nil) })
		}
		return nil
	})
	m := b.open(t)
	if deleted, err := m.Delete(t.Context(), ruleRef); deleted || err == nil || !strings.Contains(err.Error(), `cluster "c1": delete virtualservices demo/echo`) {
		t.Fatalf("an object that changed under the delete: %t, %v", deleted, err)
	}
	if deleted, err := m.Delete(t.Context(), ruleRef); deleted || err != nil {
		t.Errorf("it is no longer ours: %t, %v", deleted, err)
	}
	b.edit(t, "kubectl-edit", func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{LabelManaged: LabelManagedValue}) })
	if deleted, err := m.Delete(t.Context(), ruleRef); !deleted || err != nil {
		t.Errorf("ours: %t, %v", deleted, err)
	}
	if deleted, err := m.Delete(t.Context(), ruleRef); deleted || err != nil {
		t.Errorf("gone already: %t, %v", deleted, err)
	}
}

const export = `{"apiVersion": "multicluster.x-k8s.io/v1beta1", "kind": "ServiceExport", "metadata": {"namespace": "demo", "name": "echo"}`

func status(since, reason string) string {
	return export + `, "status": {"conditions": [{"type": "Valid", "status": "True", "reason": "` + reason + `", "message": "m", "lastTransitionTime": "` + since + `"}]}}`
}

func TestAStatusIsWrittenOnceWhateverItsTimes(t *testing.T) {
	b := newBench(t)
	m := b.open(t)
	if _, err := m.Apply(t.Context(), manager, exportRef, object(t, export+"}")); err != nil {
		t.Fatal(err)
	}
	b.server.Requests()
	steps := []struct {
		name, text string
		writes     int
	}{
		{"first", status("2026-01-01T00:00:00Z", "Valid"), 1},
		{"the same", status("2026-01-01T00:00:00Z", "Valid"), 0},
		{"only later", status("2026-01-02T00:00:00Z", "Valid"), 0},
		{"another reason", status("2026-01-02T00:00:00Z", "Other"), 1},
	}
	for _, s := range steps {
		if err := m.ApplyStatus(t.Context(), manager, exportRef, object(t, s.text)); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if writes := b.server.Writes(); len(writes) != s.writes {
			t.Errorf("%s: %v", s.name, writes)
		}
	}
}

func TestAStatusOfAnObjectOfSomebodyElseIsLeft(t *testing.T) {
	b := newBench(t)
	if err := b.server.Store.Create(t.Context(), object(t, export+"}"), client.FieldOwner("user")); err != nil {
		t.Fatal(err)
	}
	if err := b.open(t).ApplyStatus(t.Context(), manager, exportRef, object(t, status("2026-01-01T00:00:00Z", "Valid"))); err != nil {
		t.Fatal(err)
	}
	if writes := b.server.Writes(); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
}

func TestListsAndNumbersCompareByWhatTheySay(t *testing.T) {
	cases := map[string]struct {
		want, live string
		stands     bool
	}{
		"a number of another type":      {`{"n": 1}`, `{"n": 1.0}`, true},
		"a list in another order":       {`{"l": [1, 2]}`, `{"l": [2, 1]}`, false},
		"a longer list":                 {`{"l": [1]}`, `{"l": [1, 2]}`, false},
		"an empty list that is not set": {`{"l": []}`, `{}`, true},
		"an empty map that is not set":  {`{"m": {}}`, `{}`, true},
		"a default in an item":          {`{"l": [{"a": 1}]}`, `{"l": [{"a": 1, "b": 2}]}`, true},
		"a value that was taken away":   {`{"m": {"a": 1}}`, `{"m": {}}`, false},
		"a text for a map":              {`{"m": {"a": 1}}`, `{"m": "a"}`, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := stands(rule(t, c.want), rule(t, c.live)); got != c.stands {
				t.Errorf("got %t", got)
			}
		})
	}
}
