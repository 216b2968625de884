// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/mesh/istio"
)

// TestForeignGolden finds the rules in each case of testdata/foreign. "service"
// sets what they are held against, "foreign" lists the objects.
func TestForeignGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/foreign", func(t *testing.T, path string) {
		t.Helper()
		var in istio.Input
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			switch d.Cmd {
			case "service":
				in = parseInput(t, d.Input)
				return "ok\n"
			case "foreign":
				return describeConflicts(istio.Foreign(in, parseRules(t, d.Input)))
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

func parseRules(t *testing.T, text string) []istio.Rule {
	t.Helper()
	var rules []istio.Rule
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var obj map[string]any
		if err := yaml.Unmarshal([]byte(doc), &obj); err != nil {
			t.Fatalf("read object: %v", err)
		}
		r, err := istio.ParseRule(obj)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	return rules
}

func describeConflicts(cs []istio.Conflict) string {
	var b strings.Builder
	for _, c := range cs {
		block := ""
		if c.Code.Blocks() {
			block = " (blocks)"
		}
		fmt.Fprintf(&b, "%s%s\n  %s\n", c.Code, block, c)
		if len(c.Gateways) > 0 {
			fmt.Fprintf(&b, "  gateways %s\n", strings.Join(c.Gateways, " "))
		}
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

var reviews = istio.Input{Service: istio.Service{Namespace: "shop", Name: "reviews"}}

// ours is an object as the API server shows one that weir applied.
func ours() istio.Rule {
	return istio.Rule{
		Kind: "VirtualService", Namespace: "shop", Name: "weir-reviews",
		Labels:   map[string]string{istio.LabelManagedBy: istio.ManagedBy},
		Managers: []istio.Manager{{Name: istio.FieldManager, Fields: map[string]any{"f:spec": map[string]any{"f:hosts": map[string]any{}}}}},
		Spec:     map[string]any{"hosts": []any{"reviews.shop.svc.cluster.local"}},
	}
}

func TestOwnRulesAreNotForeign(t *testing.T) {
	if got := istio.Foreign(reviews, []istio.Rule{ours()}); len(got) != 0 {
		t.Errorf("our own rule is called foreign: %v", got)
	}
}

func TestCopyOfOurRuleByAnotherIsForeign(t *testing.T) {
	cases := map[string]func(*istio.Rule){
		"label without our manager": func(r *istio.Rule) { r.Managers[0].Name = "kubectl" },
		"manager without our label": func(r *istio.Rule) { r.Labels = nil },
		"our manager on status only": func(r *istio.Rule) {
			r.Managers[0].Fields = map[string]any{"f:status": map[string]any{}}
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			r := ours()
			change(&r)
			got := istio.Foreign(reviews, []istio.Rule{r})
			if len(got) != 1 || got[0].Code != istio.SameHost {
				t.Errorf("found %v, want one SameHost", got)
			}
		})
	}
}

func TestOwnersLeavesOutWeirAndStatusWriters(t *testing.T) {
	r := istio.Rule{Managers: []istio.Manager{
		{Name: "kubectl"}, {Name: "argocd"}, {Name: "kubectl"}, {Name: istio.FieldManager}, {Name: "pilot", Subresource: "status"},
	}}
	if diff := cmp.Diff([]string{"argocd", "kubectl"}, r.Owners()); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

func TestParseRuleRefusesWhatIsNoObject(t *testing.T) {
	cases := map[string]map[string]any{
		"nil":        nil,
		"no kind":    {"metadata": map[string]any{"name": "x"}},
		"no name":    {"kind": "VirtualService"},
		"bad fields": {"kind": "VirtualService", "metadata": map[string]any{"name": "x", "managedFields": []any{"no"}}},
	}
	for name, obj := range cases {
		if r, err := istio.ParseRule(obj); err == nil {
			t.Errorf("%s: read %v, want an error", name, r)
		}
	}
}

// TestForeignIsBlindToOrder shuffles rules that meet each other.
func TestForeignIsBlindToOrder(t *testing.T) {
	hosts := []string{"reviews", "reviews.shop", "*", "*.local", "reviews.shop.svc.cluster.local", "other", "*.svc.cluster.local"}
	kinds := []string{"VirtualService", "DestinationRule"}
	spaces := []string{"shop", "web", "istio-system"}
	rapid.Check(t, func(t *rapid.T) {
		rules := make([]istio.Rule, rapid.IntRange(0, 8).Draw(t, "n"))
		for i := range rules {
			host := rapid.SampledFrom(hosts).Draw(t, "host")
			rules[i] = istio.Rule{
				Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Namespace: rapid.SampledFrom(spaces).Draw(t, "namespace"),
				Name: fmt.Sprint("r", i), Spec: map[string]any{"host": host, "hosts": []any{host}},
			}
		}
		want := istio.Foreign(reviews, rules)
		got := istio.Foreign(reviews, rapid.Permutation(rules).Draw(t, "order"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("order of rules matters (-first +shuffled):\n%s", diff)
		}
	})
}

// FuzzForeign feeds host names and namespaces that nobody would write: the search
// must end, find each rule at most once a name, and find the exact host always.
func FuzzForeign(f *testing.F) {
	for _, h := range []string{"reviews", "*", "*.local", "", "*.", "**", "reviews.shop.svc.cluster.local", "REVIEWS.shop", "\xff", "a/b", "."} {
		f.Add(h, "shop", "web/"+h)
	}
	f.Fuzz(func(t *testing.T, host, namespace, entry string) {
		exact := "reviews.shop.svc.cluster.local"
		rules := []istio.Rule{
			{Kind: "VirtualService", Namespace: namespace, Name: "a", Spec: map[string]any{
				"hosts": []any{host}, "gateways": []any{host, "mesh"},
				"http": []any{map[string]any{"route": []any{map[string]any{"destination": map[string]any{"host": host}}}}},
			}},
			{Kind: "VirtualService", Namespace: "web", Name: "b", Spec: map[string]any{"hosts": []any{exact}}},
			{Kind: "DestinationRule", Namespace: namespace, Name: "c", Spec: map[string]any{"host": host, "exportTo": []any{entry}}},
			{Kind: "Sidecar", Namespace: namespace, Name: "d", Spec: map[string]any{"egress": []any{map[string]any{"hosts": []any{entry, host}}}}},
			{Kind: "HTTPRoute", Namespace: namespace, Name: "e", Spec: map[string]any{
				"parentRefs": []any{map[string]any{"name": host, "group": ""}}, "rules": []any{host, map[string]any{"backendRefs": []any{map[string]any{"name": entry}}}},
			}},
		}
		got := istio.Foreign(reviews, rules)
		if !slices.ContainsFunc(got, func(c istio.Conflict) bool { return c.Name == "b" && c.Code == istio.SameHost }) {
			t.Errorf("the exact host was not found beside %q", host)
		}
		seen := map[string]bool{}
		for _, c := range got {
			key := c.Kind + c.Name + string(c.Code) + c.Host
			if seen[key] {
				t.Errorf("found twice: %v", c)
			}
			seen[key] = true
			if c.Why == "" || c.WayOut == "" {
				t.Errorf("no reason or no way out: %v", c)
			}
		}
	})
}
