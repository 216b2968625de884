// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/mesh/istio"
)

const rendered = "testdata/rendered"

// TestRenderGolden holds every case of testdata/render against the rules in
// testdata/rendered/CASE.yaml, which is also what the rig pipes into Istio's own
// validator. Run with -rewrite to accept what is rendered now.
func TestRenderGolden(t *testing.T) {
	written := map[string]bool{}
	datadriven.Walk(t, "testdata/render", func(t *testing.T, path string) {
		t.Helper()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			var name string
			d.ScanArgs(t, "name", &name)
			if written[name] {
				d.Fatalf(t, "case %q stands there twice", name)
			}
			rules, reasons := istio.Render(parseInput(t, d.Input))
			if len(rules.DestinationRules) > 0 {
				written[name] = true
				holdRendered(t, name, rules)
			}
			return describe(rules, reasons)
		})
	})
	files, err := filepath.Glob(filepath.Join(rendered, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".yaml"); !written[name] {
			t.Errorf("%s belongs to no case in testdata/render: delete it", f)
		}
	}
}

func holdRendered(t *testing.T, name string, rules istio.Rules) {
	t.Helper()
	got, err := rules.YAML()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(rendered, name+".yaml")
	if flag.Lookup("rewrite").Value.String() == "true" {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what is rendered now (-file +now):\n%s", path, diff)
	}
}

func parseInput(t *testing.T, text string) istio.Input {
	t.Helper()
	var in istio.Input
	if err := yaml.UnmarshalStrict([]byte(text), &in); err != nil {
		t.Fatalf("read input: %v", err)
	}
	return in
}

// describe writes what Render says besides the objects.
func describe(r istio.Rules, reasons []istio.Reason) string {
	var b strings.Builder
	for _, w := range r.Weights {
		fmt.Fprintf(&b, "weight %s %s %d\n", w.Cluster, w.Subset, w.Percent)
	}
	fmt.Fprintf(&b, "weighted %v, by the fence alone %v\n", r.WeightedPorts, r.FenceOnlyPorts)
	fmt.Fprintf(&b, "%d DestinationRules, %d VirtualServices\n", len(r.DestinationRules), len(r.VirtualServices))
	for _, r := range reasons {
		block := ""
		if r.Code.Blocks() {
			block = " (blocks)"
		}
		fmt.Fprintf(&b, "%s%s: %s\n", r.Code, block, r.Message)
	}
	return b.String()
}

// routes walks over all weighted routes of the rules.
func routes(r istio.Rules) [][]int64 {
	var out [][]int64
	for _, vs := range r.VirtualServices {
		spec := vs["spec"].(map[string]any)
		for _, proto := range []string{"http", "tls", "tcp"} {
			list, _ := spec[proto].([]any)
			for _, route := range list {
				var weights []int64
				for _, d := range route.(map[string]any)["route"].([]any) {
					weights = append(weights, d.(map[string]any)["weight"].(int64))
				}
				out = append(out, weights)
			}
		}
	}
	return out
}

func sum(ws []int64) (total int64) {
	for _, w := range ws {
		total += w
	}
	return total
}

// TestRulesHoldOnlyJSONTypes keeps the rules fit for unstructured objects, which
// panic on a copy of any other type.
func TestRulesHoldOnlyJSONTypes(t *testing.T) {
	in := istio.Input{
		Service:       istio.Service{Namespace: "shop", Name: "reviews", Ports: []istio.Port{{Name: "http", Number: 80}, {Name: "tcp", Number: 81}}},
		ConfigCluster: "c1", Generation: 3, Subsets: istio.HardSubset, ClientNamespaces: []string{"a"},
		Clusters: []istio.Cluster{{Name: "c1", Permille: 1}, {Name: "c2"}},
	}
	rules, _ := istio.Render(in)
	objects := slices.Concat(rules.DestinationRules, rules.VirtualServices)
	if len(objects) != 2 {
		t.Fatalf("%d objects, want 2", len(objects))
	}
	for _, o := range objects {
		jsonTypes(t, "", o)
	}
}

func jsonTypes(t *testing.T, at string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			jsonTypes(t, at+"."+k, e)
		}
	case []any:
		for i, e := range v {
			jsonTypes(t, fmt.Sprintf("%s[%d]", at, i), e)
		}
	case string, bool, int64:
	default:
		t.Errorf("%s is a %T", at, v)
	}
}
