// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, manifest string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func checker(t *testing.T, kind string) Checker {
	t.Helper()
	all, err := Checkers()
	if err != nil {
		t.Fatal(err)
	}
	c, ok := all[kind]
	if !ok {
		t.Fatalf("there is no checker of kind %s", kind)
	}
	return c
}

// fields is where errors stand, in their order.
func fields(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Field)
	}
	return out
}

func TestEveryErrorOfAnObjectIsNamedAtOnceInTheOrderOfItsFields(t *testing.T) {
	const manifest = `
apiVersion: federation.weir.io/v1alpha1
kind: ClusterView
metadata: {name: North_1, labls: a, labels: {a: "b c"}}
spec:
  version: -1
  health: Sick
  heath: Healthy
  nodes:
  - {name: a, count: -2}
  - {count: two}
`
	want := []string{
		"metadata.labels", "metadata.labls", "metadata.name", "spec.health", "spec.heath", "spec.nodes[0].count",
		"spec.nodes[1].count", "spec.nodes[1].name", "spec.version",
	}
	view := checker(t, "ClusterView")
	for range 20 {
		if diff := cmp.Diff(want, fields(view.Create(t.Context(), object(t, manifest)))); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

func TestMetadataIsCheckedAsAnAPIServerDoes(t *testing.T) {
	const head = "apiVersion: federation.weir.io/v1alpha1\n"
	for name, test := range map[string]struct{ kind, manifest, field, detail string }{
		"no name":                    {"ClusterDrain", "kind: ClusterDrain\nspec: {clusterName: c1}", "metadata.name", "name or generateName is required"},
		"a namespace on a cluster":   {"ClusterDrain", "kind: ClusterDrain\nmetadata: {name: a, namespace: b}\nspec: {clusterName: c1}", "metadata.namespace", "not allowed on this type"},
		"a namespace that is a list": {"ClusterDrain", "kind: ClusterDrain\nmetadata: {name: a, namespace: [b]}\nspec: {clusterName: c1}", "metadata", "cannot unmarshal"},
		"metadata that is text":      {"ClusterDrain", "kind: ClusterDrain\nmetadata: a\nspec: {clusterName: c1}", "metadata", "a"},
		"a bad namespace":            {"TrafficPolicy", "kind: TrafficPolicy\nmetadata: {name: a, namespace: B}\nspec: {}", "metadata.namespace", "lowercase RFC 1123"},
		"a bad name within":          {"Work", "kind: Work\nmetadata: {name: a}\nspec: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labls: c}}]}}", "spec.workload.manifests[0].metadata.labls", "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			errs := checker(t, test.kind).Create(t.Context(), object(t, head+test.manifest))
			for _, err := range errs {
				if err.Field == test.field && strings.Contains(err.Error(), test.detail) {
					return
				}
			}
			t.Errorf("want an error at %s that says %q, got %v", test.field, test.detail, errs)
		})
	}
}

func TestNamespaceMayBeLeftToTheRequest(t *testing.T) {
	policy := object(t, "apiVersion: federation.weir.io/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: a}\nspec: {}")
	if errs := checker(t, "TrafficPolicy").Create(t.Context(), policy); len(errs) > 0 {
		t.Error(errs)
	}
}

func TestDefaultsAreFilledInPlace(t *testing.T) {
	view := object(t, "apiVersion: federation.weir.io/v1alpha1\nkind: ClusterView\nmetadata: {name: a}\nspec: {nodes: [{name: b}]}")
	if errs := checker(t, "ClusterView").Create(t.Context(), view); len(errs) > 0 {
		t.Fatal(errs)
	}
	want := map[string]any{"health": "Healthy", "nodes": []any{map[string]any{"name": "b", "count": int64(1)}}}
	if diff := cmp.Diff(want, view["spec"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRulesSeeWhatWasThereBefore(t *testing.T) {
	drain := func(cluster string) map[string]any {
		return object(t, "apiVersion: federation.weir.io/v1alpha1\nkind: ClusterDrain\nmetadata: {name: a}\nspec: {clusterName: "+cluster+"}")
	}
	c := checker(t, "ClusterDrain")
	if errs := c.Update(t.Context(), drain("c1"), drain("c1")); len(errs) > 0 {
		t.Error(errs)
	}
	if errs := c.Update(t.Context(), drain("c2"), drain("c1")); len(errs) != 1 || !strings.Contains(errs[0].Error(), "immutable") {
		t.Errorf("a change of what is immutable gives %v", errs)
	}
}

// BenchmarkFirstObject is what a program pays before it can check objects of one kind.
func BenchmarkFirstObject(b *testing.B) {
	for b.Loop() {
		all, err := Checkers()
		if err != nil {
			b.Fatal(err)
		}
		if errs := all["FederatedDeployment"].Create(b.Context(), map[string]any{}); len(errs) == 0 {
			b.Fatal("nothing is no FederatedDeployment")
		}
	}
}
