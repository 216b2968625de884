// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/api/v1alpha1"
)

func parsed[T any](t *testing.T, text string) T {
	t.Helper()
	var out T
	if err := yaml.UnmarshalStrict([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func cluster(t *testing.T, name string) v1alpha1.Cluster {
	t.Helper()
	return parsed[v1alpha1.Cluster](t, "metadata: {name: "+name+"}")
}

func view(t *testing.T, name, cpu string) v1alpha1.ClusterView {
	t.Helper()
	return parsed[v1alpha1.ClusterView](t, "metadata: {name: "+name+"}\nspec: {version: 7, nodes: [{name: a, count: 3, allocatable: {cpu: "+cpu+"}}]}")
}

func deployment(t *testing.T, name, placement string) v1alpha1.FederatedDeployment {
	t.Helper()
	return parsed[v1alpha1.FederatedDeployment](t, "metadata: {name: "+name+`, namespace: shop}
spec:
  template:
    spec:
      replicas: 6
      template: {spec: {containers: [{name: a, image: a, resources: {requests: {cpu: 1}}}]}}
  placement: `+placement)
}

func standing(t *testing.T, name string, replicas string) v1alpha1.ResourceBinding {
	t.Helper()
	return parsed[v1alpha1.ResourceBinding](t, "metadata: {name: deployment-"+name+`, namespace: shop}
spec:
  resource: {apiVersion: apps/v1, kind: Deployment, namespace: shop, name: `+name+`}
  clusters: `+replicas)
}

func run(t *testing.T, q *Question) *Answer {
	t.Helper()
	answer, err := Run(q)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func codes(b Binding) string {
	var out []string
	for _, r := range b.Reasons {
		out = append(out, r.Cluster+"/"+r.Code)
	}
	return strings.Join(out, " ")
}

func TestAWorkloadWithoutAClusterOrAViewSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		question  Question
		placement string
		want      string
	}{
		"no cluster at all":   {Question{}, "{}", "/NoCluster"},
		"not the one it asks": {Question{Clusters: []v1alpha1.Cluster{cluster(t, "c1")}}, "{clusters: [{name: c9}]}", "c1/NotSelected c9/NoCluster"},
		"no view":             {Question{Clusters: []v1alpha1.Cluster{cluster(t, "c1")}}, "{}", "c1/NoView"},
		"another's view":      {Question{Clusters: []v1alpha1.Cluster{cluster(t, "c1")}, Views: []v1alpha1.ClusterView{view(t, "c2", "4")}}, "{}", "c1/NoView"},
	} {
		t.Run(name, func(t *testing.T) {
			c.question.Deployments = []v1alpha1.FederatedDeployment{deployment(t, "web", c.placement)}
			answer := run(t, &c.question)
			if b := answer.Bindings[0]; answer.Unplaced() != 6 || codes(b) != c.want || len(b.Replicas) != 0 {
				t.Errorf("%d unplaced, %s, %v", answer.Unplaced(), codes(b), b.Replicas)
			}
		})
	}
}

func TestABindingIsWhatStandsAndWithoutMovesOnlyThat(t *testing.T) {
	q := &Question{Deployments: []v1alpha1.FederatedDeployment{deployment(t, "web", "{}")}}
	for _, name := range []string{"c1", "c2", "c3"} {
		q.Clusters, q.Views = append(q.Clusters, cluster(t, name)), append(q.Views, view(t, name, "4"))
	}
	q.Bindings = []v1alpha1.ResourceBinding{standing(t, "other", "[{name: c3, replicas: 6}]"), standing(t, "web", "[{name: c1, replicas: 4}, {name: c2, replicas: 1}, {name: c3, replicas: 1}]")}
	if diff := cmp.Diff(map[string]int64{"c1": 4, "c2": 1, "c3": 1}, run(t, q).Bindings[0].Replicas); diff != "" {
		t.Errorf("what stands moves (-want +got)\n%s", diff)
	}
	q.Without = []string{"c2"}
	b := run(t, q).Bindings[0]
	if diff := cmp.Diff(map[string]int64{"c1": 4, "c3": 2}, b.Replicas); diff != "" {
		t.Errorf("without c2 (-want +got)\n%s", diff)
	}
	if codes(b) != "c2/LeftOut" || b.Before["c2"] != 1 || b.ViewVersions["c2"] != 0 || b.ViewVersions["c1"] != 7 {
		t.Errorf("%+v", b)
	}
	q.Without, q.Rebalance = nil, true
	if diff := cmp.Diff(map[string]int64{"c1": 2, "c2": 2, "c3": 2}, run(t, q).Bindings[0].Replicas); diff != "" {
		t.Errorf("rebalanced (-want +got)\n%s", diff)
	}
}

func TestWhatOneWorkloadTakesTheNextDoesNotGet(t *testing.T) {
	q := &Question{
		Clusters: []v1alpha1.Cluster{cluster(t, "c1")}, Views: []v1alpha1.ClusterView{view(t, "c1", "3")},
		Deployments: []v1alpha1.FederatedDeployment{deployment(t, "b", "{}"), deployment(t, "a", "{}")},
	}
	answer := run(t, q)
	if a, b := answer.Bindings[0], answer.Bindings[1]; a.Name != "a" || a.Replicas["c1"] != 6 || b.Replicas["c1"] != 3 || b.Unplaced != 3 {
		t.Errorf("%+v", answer)
	}
}

func TestTheOrderOfObjectsChangesNoAnswer(t *testing.T) {
	q := Question{
		Clusters:    []v1alpha1.Cluster{cluster(t, "c1"), cluster(t, "c2"), cluster(t, "c3")},
		Views:       []v1alpha1.ClusterView{view(t, "c1", "2"), view(t, "c2", "5"), view(t, "c3", "1")},
		Deployments: []v1alpha1.FederatedDeployment{deployment(t, "a", "{}"), deployment(t, "b", "{}"), deployment(t, "c", "{clusters: [{name: c3}]}")},
		Bindings:    []v1alpha1.ResourceBinding{standing(t, "a", "[{name: c3, replicas: 2}]"), standing(t, "b", "[{name: c1, replicas: 2}]")},
	}
	want := run(t, &q)
	rapid.Check(t, func(r *rapid.T) {
		p := Question{
			Clusters:    rapid.Permutation(slices.Clone(q.Clusters)).Draw(r, "clusters"),
			Views:       rapid.Permutation(slices.Clone(q.Views)).Draw(r, "views"),
			Deployments: rapid.Permutation(slices.Clone(q.Deployments)).Draw(r, "deployments"),
			Bindings:    rapid.Permutation(slices.Clone(q.Bindings)).Draw(r, "bindings"),
		}
		got, err := Run(&p)
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatal(diff)
		}
	})
}

func TestAQuestionThatCannotBeAskedNamesWhatIsWrong(t *testing.T) {
	wrong := deployment(t, "web", "{}")
	wrong.Spec.Overrides = []v1alpha1.ClusterOverride{parsed[v1alpha1.ClusterOverride](t, "clusterName: c1\nclusterOverrides: [{path: /spec/template/spec/containers/7/image, value: b}]")}
	for want, q := range map[string]*Question{
		`cluster "c9" is to be left out, and is not there`:                          {Without: []string{"c9"}},
		`cluster "c1" has two views`:                                                {Clusters: []v1alpha1.Cluster{cluster(t, "c1"), cluster(t, "c1")}},
		"FederatedDeployment shop/web: spec.overrides[0].clusterOverrides[0].path:": {Deployments: []v1alpha1.FederatedDeployment{wrong}},
		"FederatedDeployment /: spec.template.spec":                                 {Deployments: []v1alpha1.FederatedDeployment{{}}},
	} {
		if _, err := Run(q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
