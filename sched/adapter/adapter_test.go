// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/view"
	"github.com/weir-io/weir/sched"
	"github.com/weir-io/weir/sched/dimension"
	"github.com/weir-io/weir/sched/filter"
	"github.com/weir-io/weir/sched/fit"
	"github.com/weir-io/weir/sched/match"
)

func parsed[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

const web = `
metadata: {name: web, namespace: shop, generation: 3}
spec:
  template:
    spec:
      replicas: 6
      template:
        metadata: {labels: {app: web}}
        spec:
          nodeSelector: {disk: ssd}
          tolerations: [{key: gpu, operator: Exists}, {key: a, value: b, effect: NoSchedule}]
          affinity:
            nodeAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
                nodeSelectorTerms:
                - matchExpressions: [{key: arch, operator: In, values: [amd64]}]
                - matchExpressions: [{key: cores, operator: Gt, values: ["8"]}]
          containers:
          - {name: web, image: a, resources: {requests: {cpu: 250m}, limits: {cpu: "1", memory: 1Gi}}}
          - {name: log, image: a, resources: {requests: {cpu: 50m, example.com/dpu: 2}}}
  placement:
    clusters: [{name: c1}, {name: c2}]
    clusterAffinity:
      labelSelector: {matchLabels: {tier: production}, matchExpressions: [{key: old, operator: DoesNotExist}]}
      fieldSelector: {matchExpressions: [{key: region, operator: NotIn, values: [moon]}]}
    clusterTolerations: [{key: burst, operator: Exists}]
  overrides:
  - clusterName: c2
    clusterOverrides:
    - {path: /spec/replicas, value: 4}
`

func TestAWishAsksForWhatTheObjectsSay(t *testing.T) {
	d := parsed[v1alpha1.FederatedDeployment](t, web)
	preference := parsed[v1alpha1.ReplicaPreference](t, "weight: {c1: 8}\nminReplicas: 0\nmaxReplicas: 20\nclusters: {c3: {weight: 2, minReplicas: 1}}")
	wish, errs := Wish(d, preference)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if wish.Resource != (v1alpha1.ResourceReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}) || wish.WishGeneration != 3 || wish.Replicas != 6 {
		t.Errorf("%+v", wish)
	}
	wish.Clusters = []v1alpha1.BindingCluster{{Name: "c1", Replicas: 2}}
	in := func(key string, operator match.Operator, values ...string) match.Requirement {
		return match.Requirement{Key: key, Operator: operator, Values: values}
	}
	want := sched.Request{
		Workload: "Deployment/shop/web", Replicas: 6,
		Where: filter.Wish{
			Names:       map[string]bool{"c1": true, "c2": true},
			Fields:      match.Selector{in("region", match.NotIn, "moon")},
			Labels:      match.Selector{in("tier", match.In, "production"), in("old", match.DoesNotExist)},
			Tolerations: []match.Toleration{{Key: "burst", Exists: true}},
			Kind:        "apps/v1/Deployment",
		},
		Pod: fit.Pod{
			Need: dimension.Amounts{"cpu": 300, "memory": 1 << 30, "example.com/dpu": 2},
			Nodes: match.Any{
				impossible,
				{in("disk", match.In, "ssd"), in("arch", match.In, "amd64")},
				{in("disk", match.In, "ssd"), in("cores", match.Gt, "8")},
			},
			Tolerations: []match.Toleration{{Key: "gpu", Exists: true}, {Key: "a", Value: "b", Effect: match.NoSchedule}},
		},
		Default: sched.Bounds{Weight: 0, Min: 0, Max: 20},
		Bounds: map[string]sched.Bounds{
			"c1": {Weight: 8, Min: 0, Max: 20}, "c2": {Weight: 1, Min: 4, Max: 4, First: true}, "c3": {Weight: 2, Min: 1, Max: 20},
		},
		Current: map[string]sched.Placement{"c1": {Replicas: 2}},
	}
	if diff := cmp.Diff(want, Request(&wish), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWithoutAPreferenceEveryClusterIsEqualAndGetsOne(t *testing.T) {
	r := Request(&v1alpha1.ResourceBindingSpec{Replicas: 3})
	if r.Default != sched.DefaultBounds || r.Where.Names != nil || len(r.Bounds) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestAWishThatCannotBeReadNamesTheField(t *testing.T) {
	for want, change := range map[string]string{
		"spec.template.spec.template.spec.containers": "containers: []",
		"spec.overrides[0].clusterOverrides[0].value": "value: 7",
	} {
		text := web
		if strings.HasPrefix(change, "value") {
			text = strings.Replace(text, "value: 4", change, 1)
		} else {
			at := strings.Index(text, "          containers:")
			text = text[:at] + "          " + change + text[strings.Index(text, "\n  placement"):]
		}
		d := parsed[v1alpha1.FederatedDeployment](t, text)
		if _, errs := Wish(d, nil); len(errs) != 1 || errs[0].Field != want {
			t.Errorf("%s: %v", want, errs)
		}
	}
}

func TestTheOldestPreferenceHolds(t *testing.T) {
	d := parsed[v1alpha1.FederatedDeployment](t, web)
	names := func(text string) v1alpha1.ReplicaSchedulingPreference {
		return *parsed[v1alpha1.ReplicaSchedulingPreference](t, text)
	}
	target := "spec: {targetRef: {kind: FederatedDeployment, name: web}}"
	all := []v1alpha1.ReplicaSchedulingPreference{
		names("metadata: {name: elsewhere, namespace: other}\n" + target),
		names("metadata: {name: another, namespace: shop}\nspec: {targetRef: {kind: FederatedDeployment, name: api}}"),
		names("metadata: {name: b, namespace: shop, creationTimestamp: 2026-01-02T00:00:00Z}\n" + target),
		names("metadata: {name: d, namespace: shop, creationTimestamp: 2026-01-01T00:00:00Z}\n" + target),
		names("metadata: {name: c, namespace: shop, creationTimestamp: 2026-01-01T00:00:00Z}\n" + target),
	}
	if got := Preferred(d, all); got == nil || got.Name != "c" {
		t.Errorf("%+v", got)
	}
	if got := Preferred(d, all[:2]); got != nil {
		t.Errorf("%+v", got)
	}
}

func TestRefineSeesWhatOnlyTheFederatedDeploymentTells(t *testing.T) {
	refined := func(text string) (sched.Request, string) {
		d := parsed[v1alpha1.FederatedDeployment](t, text)
		wish, errs := Wish(d, nil)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		r := Request(&wish)
		return r, errText(Refine(&r, d))
	}
	changed := func(from, to string) string { return strings.Replace(web, from, to, 1) }
	r := func(text string) sched.Request {
		d := parsed[v1alpha1.FederatedDeployment](t, text)
		wish, _ := Wish(d, nil)
		r := Request(&wish)
		if errs := Refine(&r, d); len(errs) > 0 {
			t.Fatal(errs)
		}
		return r
	}
	if got := r(web); got.Pod.Apart || got.Pods != nil {
		t.Errorf("a pinned cluster has pods of its own: %+v", got)
	}
	smaller := r(changed("{path: /spec/replicas, value: 4}", "{path: /spec/template/spec/containers/0/resources/requests/cpu, value: 100m}"))
	if smaller.Pods["c2"].Need["cpu"] != 150 || smaller.Pod.Need["cpu"] != 300 {
		t.Errorf("%+v", smaller.Pods)
	}
	if !r(changed("image: a,", "image: a, ports: [{containerPort: 80, hostPort: 80}],")).Pod.Apart {
		t.Error("two pods share a port of a node")
	}
	apart := "            podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: APP}}}]}\n            nodeAffinity:"
	if !r(changed("            nodeAffinity:", strings.Replace(apart, "APP", "web", 1))).Pod.Apart {
		t.Error("two pods share a node that keep away from each other")
	}
	if r(changed("            nodeAffinity:", strings.Replace(apart, "APP", "db", 1))).Pod.Apart {
		t.Error("pods that keep away from others keep away from each other")
	}
	for want, change := range map[string]string{
		"spec.overrides[0].clusterOverrides[0].path":  "{path: /spec/template/spec/containers/9/image, value: b}",
		"spec.overrides[0].clusterOverrides[0].value": "{path: /spec/template/spec/containers, value: 7}",
		"for c2, spec.minReadySecond: the Deployment": "{path: /spec/minReadySecond, value: 7}",
	} {
		if _, got := refined(changed("{path: /spec/replicas, value: 4}", change)); !strings.Contains(got, want) {
			t.Errorf("%s: %q", want, got)
		}
	}
}

func errText[E error](errs []E) string {
	text := ""
	for _, err := range errs {
		text += err.Error() + "\n"
	}
	return text
}

func TestNodeAffinityThatCannotBeKeptKeepsAllNodesOut(t *testing.T) {
	labels := map[string]string{"a": "1"}
	for name, c := range map[string]struct {
		term corev1.NodeSelectorTerm
		want bool
	}{
		"met":      {corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: corev1.NodeSelectorOpExists}}}, true},
		"by field": {corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n"}}}}, false},
		"empty":    {corev1.NodeSelectorTerm{}, false},
	} {
		r := &v1alpha1.NodeRequirements{NodeAffinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{c.term}}}
		if got := pod(nil, r).Nodes.Matches(labels); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	none := pod(nil, &v1alpha1.NodeRequirements{NodeAffinity: &corev1.NodeSelector{}})
	if none.Nodes.Matches(labels) {
		t.Error("an affinity without a term is met")
	}
}

func TestAmountsStayWithinWhatAClusterHas(t *testing.T) {
	got := amounts(corev1.ResourceList{
		"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1500m"), "huge": resource.MustParse("9E"), "less": resource.MustParse("-1"),
	})
	want := dimension.Amounts{"cpu": 1500, "memory": 2, "huge": view.MaxAmount, "less": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := amounts(corev1.ResourceList{"cpu": resource.MustParse("9E")}); got["cpu"] != view.MaxAmount {
		t.Errorf("%v", got)
	}
}

func TestAFileAndAnAgentTellTheSame(t *testing.T) {
	cluster := parsed[v1alpha1.Cluster](t, "metadata: {name: c1, labels: {tier: production}}\nspec: {region: north, zone: a, taints: [{key: x, effect: NoSchedule}]}")
	fromFile, fromAgent := Cluster(cluster), Cluster(cluster)
	See(&fromFile, parsed[v1alpha1.ClusterViewSpec](t, `
version: 12
ageSeconds: 45
nodes:
- {name: a, count: 2, labels: {pool: big}, taints: [{key: gpu, value: b, effect: NoSchedule}], allocatable: {cpu: "4", memory: 8Gi, pods: "10"}, allocated: {cpu: 1500m, pods: "3"}}
- {name: b, allocatable: {cpu: "2", pods: "0"}}`), Fresh(cluster))

	book := view.NewBook(1)
	node := func(name, pool string, allocatable, allocated map[string]int64, taints ...view.Taint) view.Node {
		n := view.Node{Name: name, Taints: taints, Allocatable: view.MakeAmounts(allocatable), Allocated: view.MakeAmounts(allocated)}
		n.Conditions = n.Conditions.With(view.Ready, view.True)
		if pool != "" {
			n.Labels = []view.Label{{Key: "pool", Value: pool}}
		}
		return n
	}
	big, taken := map[string]int64{"cpu": 4000, "memory": 8 << 30, "pods": 10}, map[string]int64{"cpu": 1500, "pods": 3}
	gone := node("c", "", map[string]int64{"cpu": 64000, "pods": 10}, nil)
	gone.Conditions = gone.Conditions.With(view.Ready, view.False)
	for _, n := range []view.Node{
		node("a1", "big", big, taken, view.Taint{Key: "gpu", Value: "b", Effect: "NoSchedule"}),
		node("a2", "big", big, taken, view.Taint{Key: "gpu", Value: "b", Effect: "NoSchedule"}),
		node("b", "", map[string]int64{"cpu": 2000}, nil), gone,
	} {
		if err := book.Add(&n); err != nil {
			t.Fatal(err)
		}
	}
	book.Seal(12)
	Watch(&fromAgent, book.View(), 75)
	if diff := cmp.Diff(fromFile, fromAgent, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-file +agent)\n%s", diff)
	}
	if fromFile.Confidence != 75 || fromFile.Region != "north" || len(fromFile.Taints) != 1 {
		t.Errorf("%+v", fromFile)
	}
}

func TestANodeThatDoesNotSayHowManyPodsItRunsIsNotLimitedByThem(t *testing.T) {
	var v sched.ClusterView
	See(&v, parsed[v1alpha1.ClusterViewSpec](t, "nodes: [{name: a, allocatable: {cpu: 4}, allocated: {cpu: 1, pods: 7}}]"), time.Minute)
	if diff := cmp.Diff(dimension.Amounts{"cpu": 3000}, v.Nodes[0].Free); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestHealthIsThatOfTheAPI(t *testing.T) {
	for word, want := range map[v1alpha1.ClusterHealth]filter.Health{
		"": filter.Healthy, v1alpha1.HealthHealthy: filter.Healthy, v1alpha1.HealthSuspect: filter.Suspect,
		v1alpha1.HealthDead: filter.Dead, v1alpha1.HealthPartitioned: filter.Partitioned,
	} {
		if got := Health(word); got != want {
			t.Errorf("%s: %d", word, got)
		}
	}
}

func TestADecisionIsKeptAsABindingKeepsIt(t *testing.T) {
	got := Decided(&sched.Decision{Targets: []sched.Target{{Cluster: "c1", Replicas: 2, View: 7}}})
	if diff := cmp.Diff([]v1alpha1.BindingCluster{{Name: "c1", Replicas: 2, ViewVersion: 7}}, got); diff != "" {
		t.Error(diff)
	}
}
