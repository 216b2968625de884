// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package binding

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/hub"
)

const web = `
metadata: {namespace: shop, name: web, uid: u1, generation: 3}
spec:
  template:
    spec:
      replicas: 6
      template: {spec: {containers: [{name: web, image: a, resources: {requests: {cpu: 250m}}}]}}
  placement: {clusters: [{name: c1}, {name: c2}]}
`

func parsed[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

func preference(t *testing.T, name, age, rest string) *v1alpha1.ReplicaSchedulingPreference {
	t.Helper()
	return parsed[v1alpha1.ReplicaSchedulingPreference](t,
		"metadata: {namespace: shop, name: "+name+", generation: 1, creationTimestamp: "+age+"}\nspec: {targetRef: {apiVersion: federation.weir.io/v1alpha1, kind: FederatedDeployment, name: web}"+rest+"}")
}

type bench struct {
	client.WithWatch

	r *Reconciler
}

func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	b := &bench{WithWatch: fleettest.Hub(t, interceptor.Funcs{}, objects...)}
	b.r = &Reconciler{Client: b}
	return b
}

func (b *bench) look(t *testing.T) ctrl.Result {
	t.Helper()
	result, err := b.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (b *bench) binding(t *testing.T) *v1alpha1.ResourceBinding {
	t.Helper()
	out := &v1alpha1.ResourceBinding{}
	if err := b.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "deployment-web"}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAWishIsWrittenOnceAndBelongsToItsWorkload(t *testing.T) {
	b := newBench(t, parsed[v1alpha1.FederatedDeployment](t, web))
	b.look(t)
	got := b.binding(t)
	if got.Spec.Replicas != 6 || got.Spec.WishGeneration != 3 || got.Spec.ResourceNeed.Cpu().MilliValue() != 250 || len(got.Spec.Placement.Clusters) != 2 {
		t.Errorf("%+v", got.Spec)
	}
	if len(got.OwnerReferences) != 1 || got.OwnerReferences[0].UID != "u1" || got.OwnerReferences[0].Kind != "FederatedDeployment" {
		t.Errorf("owners %+v", got.OwnerReferences)
	}
	b.look(t)
	if again := b.binding(t); again.ResourceVersion != got.ResourceVersion {
		t.Error("it was written again")
	}
}

func TestANewWishLeavesDecisionAndPlanAlone(t *testing.T) {
	b := newBench(t, parsed[v1alpha1.FederatedDeployment](t, web))
	b.look(t)
	part := map[string]any{"clusters": []v1alpha1.BindingCluster{{Name: "c1", Replicas: 6}}, "plan": []v1alpha1.ClusterReplicas{{Name: "c1", Replicas: 6}}}
	name := &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "deployment-web"}}
	if _, err := hub.ApplySpec(t.Context(), b, "weir-schedule", name, b.binding(t).ResourceVersion, part); err != nil {
		t.Fatal(err)
	}
	d := &v1alpha1.FederatedDeployment{}
	if err := b.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web"}, d); err != nil {
		t.Fatal(err)
	}
	nine := int32(9)
	d.Spec.Template.Spec.Replicas = &nine
	if err := b.Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	b.look(t)
	got := b.binding(t)
	if got.Spec.Replicas != 9 || len(got.Spec.Clusters) != 1 || len(got.Spec.Plan) != 1 {
		t.Errorf("%+v", got.Spec)
	}
}

func TestATemplateThatCannotBeReadLeavesTheWishBeforeIt(t *testing.T) {
	b := newBench(t, parsed[v1alpha1.FederatedDeployment](t, web))
	b.look(t)
	before := b.binding(t)
	d := &v1alpha1.FederatedDeployment{}
	if err := b.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web"}, d); err != nil {
		t.Fatal(err)
	}
	d.Spec.Template.Spec = parsed[v1alpha1.FederatedDeployment](t, strings.Replace(web, "image: a", "imge: a", 1)).Spec.Template.Spec
	if err := b.Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	b.look(t)
	if diff := cmp.Diff(before, b.binding(t)); diff != "" {
		t.Error(diff)
	}
}

func TestTheOldestPreferenceIsInForceAndTheOthersAreTold(t *testing.T) {
	b := newBench(
		t, parsed[v1alpha1.FederatedDeployment](t, web),
		preference(t, "new", "2026-01-02T00:00:00Z", ", weight: {c1: 1}"), preference(t, "old", "2026-01-01T00:00:00Z", ", weight: {c2: 5}"),
	)
	b.look(t)
	if got := b.binding(t).Spec.Preference; got == nil || got.Weight["c2"] != 5 {
		t.Errorf("%+v", got)
	}
	for name, want := range map[string]string{"old": "InForce", "new": v1alpha1.ReasonConflict} {
		if c := b.ready(t, name); c == nil || c.Reason != want {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if err := b.Delete(t.Context(), preference(t, "old", "2026-01-01T00:00:00Z", "")); err != nil {
		t.Fatal(err)
	}
	b.look(t)
	if got := b.binding(t).Spec.Preference; got == nil || got.Weight["c1"] != 1 || len(got.Weight) != 1 {
		t.Errorf("%+v", got)
	}
	if c := b.ready(t, "new"); c == nil || c.Reason != "InForce" {
		t.Errorf("%+v", c)
	}
}

func (b *bench) ready(t *testing.T, name string) *metav1.Condition {
	t.Helper()
	p := &v1alpha1.ReplicaSchedulingPreference{}
	if err := b.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: name}, p); err != nil {
		t.Fatal(err)
	}
	return meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
}

func TestAPreferenceForAWorkloadThatIsNotThereSaysSo(t *testing.T) {
	b := newBench(t, preference(t, "p", "2026-01-01T00:00:00Z", ""))
	b.look(t)
	if c := b.ready(t, "p"); c == nil || c.Reason != "NoWorkload" || !strings.Contains(c.Message, "FederatedDeployment web") {
		t.Errorf("%+v", c)
	}
}

func TestAWishThatSomebodyWroteInBetweenIsMadeAgain(t *testing.T) {
	b := newBench(t, parsed[v1alpha1.FederatedDeployment](t, web))
	b.look(t)
	in, err := b.r.gather(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	touched := b.binding(t)
	touched.Annotations = map[string]string{"touched": "yes"}
	if err := b.Update(t.Context(), touched); err != nil {
		t.Fatal(err)
	}
	wish, _ := wishOf(in)
	wish.Replicas = 7
	if err := b.r.write(t.Context(), in, &wish); err == nil {
		t.Error("written over what nobody read")
	}
	if b.binding(t).Spec.Replicas != 6 {
		t.Error("the wish was changed")
	}
	if again := b.look(t); again.RequeueAfter > time.Minute {
		t.Errorf("%+v", again)
	}
}
