// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-io/weir/mesh/istio"
)

// applied returns a VirtualService as rendered, and as the API server shows it
// after weir and others wrote it.
func applied(t *testing.T, managers ...any) (mine, live map[string]any) {
	t.Helper()
	rules, reasons := istio.Render(istio.Input{
		Service:       istio.Service{Namespace: "shop", Name: "reviews", Ports: []istio.Port{{Name: "grpc", Number: 80}}},
		ConfigCluster: "c1", Generation: 7,
		Clusters: []istio.Cluster{{Name: "c1", Permille: 500}, {Name: "c2", Permille: 500}},
	})
	if len(rules.VirtualServices) != 1 {
		t.Fatalf("no VirtualService: %v", reasons)
	}
	mine = rules.VirtualServices[0]
	b, err := json.Marshal(mine)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &live); err != nil {
		t.Fatal(err)
	}
	own := map[string]any{"manager": istio.FieldManager, "fieldsV1": map[string]any{"f:spec": map[string]any{"f:http": map[string]any{}, "f:hosts": map[string]any{}}}}
	live["metadata"].(map[string]any)["managedFields"] = append([]any{own}, managers...)
	live["metadata"].(map[string]any)["resourceVersion"] = "12"
	live["status"] = map[string]any{"observedGeneration": 3.0}
	return mine, live
}

func manager(name string, fields map[string]any) map[string]any {
	return map[string]any{"manager": name, "fieldsV1": fields}
}

func owns(names ...string) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Backward(names) {
		out = map[string]any{"f:" + name: out}
	}
	return out
}

func firstRoute(live map[string]any) map[string]any {
	return live["spec"].(map[string]any)["http"].([]any)[0].(map[string]any)
}

func TestNoDriftWhereNobodyWrote(t *testing.T) {
	mine, live := applied(t)
	if got := istio.Drift(mine, live); len(got) != 0 {
		t.Errorf("drift: %v", got)
	}
}

func TestDriftNamesTheFieldAndTheWriter(t *testing.T) {
	argo := manager("argocd", owns("spec", "http"))
	status := manager("pilot-discovery", owns("spec", "http"))
	status["subresource"] = "status"
	cases := map[string]struct {
		managers []any
		change   func(live map[string]any)
		want     []istio.Edit
	}{
		"a weight": {
			managers: []any{argo, status},
			change: func(live map[string]any) {
				firstRoute(live)["route"].([]any)[1].(map[string]any)["weight"] = 90.0
			},
			want: []istio.Edit{{Field: "spec.http[0].route[1].weight", Ours: "50", Theirs: "90", Managers: []string{"argocd"}}},
		},
		"a field that weir does not write": {
			managers: []any{manager("kubectl-edit", owns("spec", "http")), argo},
			change:   func(live map[string]any) { firstRoute(live)["timeout"] = "3s" },
			want:     []istio.Edit{{Field: "spec.http[0].timeout", Theirs: `"3s"`, Managers: []string{"argocd", "kubectl-edit"}}},
		},
		"a route put before ours": {
			managers: []any{argo},
			change: func(live map[string]any) {
				spec := live["spec"].(map[string]any)
				spec["tcp"] = []any{map[string]any{"route": []any{}}}
			},
			want: []istio.Edit{{Field: "spec.tcp", Theirs: `[{"route":[]}]`}},
		},
		"a destination taken out": {
			managers: []any{argo},
			change: func(live map[string]any) {
				firstRoute(live)["route"] = firstRoute(live)["route"].([]any)[:1]
			},
			want: []istio.Edit{{
				Field: "spec.http[0].route[1]", Managers: []string{"argocd"},
				Ours: `{"destination":{"host":"reviews.shop.svc.cluster.local","port":{"number":80},"subset":"weir-c2"},"weight":50}`,
			}},
		},
		"our label": {
			managers: []any{manager("kubectl-label", owns("metadata", "labels", "weir.io/generation")), argo},
			change: func(live map[string]any) {
				live["metadata"].(map[string]any)["labels"].(map[string]any)[istio.LabelGeneration] = "8"
			},
			want: []istio.Edit{{Field: "metadata.labels[weir.io/generation]", Ours: `"7"`, Theirs: `"8"`, Managers: []string{"kubectl-label"}}},
		},
		"the whole spec": {
			managers: []any{manager("restore", owns("spec"))},
			change:   func(live map[string]any) { delete(live, "spec") },
			want:     []istio.Edit{{Field: "spec", Managers: []string{"restore"}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			mine, live := applied(t, tc.managers...)
			tc.change(live)
			got := istio.Drift(mine, live)
			if name == "the whole spec" && len(got) == 1 {
				got[0].Ours = "" // Long, and the other cases hold it.
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("edits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDriftTellsOfARuleThatIsGone(t *testing.T) {
	mine, _ := applied(t)
	got := istio.Drift(mine, nil)
	want := `metadata: weir wrote "weir-reviews", someone who left no name made it nothing`
	if len(got) != 1 || got[0].String() != want {
		t.Errorf("edits %v, want %q", got, want)
	}
}

func TestOthersLabelsAreNoDrift(t *testing.T) {
	mine, live := applied(t)
	live["metadata"].(map[string]any)["labels"].(map[string]any)["team"] = "web"
	if got := istio.Drift(mine, live); len(got) != 0 {
		t.Errorf("drift: %v", got)
	}
}

func TestEditReadsAsASentence(t *testing.T) {
	e := istio.Edit{Field: "spec.x", Ours: "50", Theirs: "90", Managers: []string{"a", "b"}}
	if got, want := e.String(), "spec.x: weir wrote 50, a, b made it 90"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
