// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
)

const web = `
metadata: {namespace: shop, name: web, uid: u1, generation: 3}
spec:
  template:
    spec:
      replicas: 5
      template: {spec: {containers: [{name: web, image: a}]}}
  placement: {}
`

func parsed[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// settled is a binding of which all is as it shall be.
func settled() *v1alpha1.ResourceBinding {
	b := &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "deployment-web"}}
	b.Spec.Replicas, b.Spec.WishGeneration = 5, 3
	b.Spec.Resource = v1alpha1.ResourceReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	for _, kind := range []string{v1alpha1.ConditionScheduled, v1alpha1.ConditionPropagated, v1alpha1.ConditionTrafficShifted} {
		meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Fine"})
	}
	b.Status.Clusters = []v1alpha1.MemberReplicas{
		{Name: "c1", Wanted: 3, Applied: 3, Ready: 3, Available: 3, Updated: 3},
		{Name: "c2", Wanted: 2, Applied: 2, Ready: 2, Available: 2, Updated: 2},
	}
	return b
}

func set(kind string, status metav1.ConditionStatus, reason, message string) func(*v1alpha1.ResourceBinding) {
	return func(b *v1alpha1.ResourceBinding) {
		meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
	}
}

func TestReadyIsTheFirstThingThatIsNotAsItShallBe(t *testing.T) {
	for name, c := range map[string]struct {
		workload string
		change   func(*v1alpha1.ResourceBinding)
		status   metav1.ConditionStatus
		reason   string
		says     string
	}{
		"all is well":        {web, nil, metav1.ConditionTrue, "Available", "5 replicas available in 2 members"},
		"not taken up":       {web, func(b *v1alpha1.ResourceBinding) { b.Spec.WishGeneration = 2 }, metav1.ConditionFalse, "Progressing", "taken up"},
		"a template":         {strings.Replace(web, "image", "imge", 1), nil, metav1.ConditionFalse, v1alpha1.ReasonInvalidTemplate, "imge"},
		"an override":        {web + "  overrides: [{clusterName: c1, clusterOverrides: [{path: /spec/replicas, value: 9}]}]", nil, metav1.ConditionFalse, v1alpha1.ReasonInvalidOverride, "spec.overrides[0]"},
		"no field of it":     {web + "  overrides: [{clusterName: c1, clusterOverrides: [{path: /spec/replica, value: 3}]}]", nil, metav1.ConditionFalse, v1alpha1.ReasonInvalidOverride, "for c1, spec.replica: the Deployment that this weir knows has no such field"},
		"nowhere to go":      {web, set(v1alpha1.ConditionScheduled, metav1.ConditionFalse, "Unplaced", "2 of 5"), metav1.ConditionFalse, "Unplaced", "2 of 5"},
		"a conflict":         {web, set(v1alpha1.ConditionPropagated, metav1.ConditionFalse, "Conflict", "c1: theirs"), metav1.ConditionFalse, "Conflict", "theirs"},
		"not seen":           {web, set(v1alpha1.ConditionPropagated, metav1.ConditionUnknown, "ContactLost", "c1"), metav1.ConditionUnknown, "ContactLost", "c1"},
		"on the move":        {web, set(v1alpha1.ConditionTrafficShifted, metav1.ConditionFalse, "Moving", "up"), metav1.ConditionFalse, "Moving", "up"},
		"not available":      {web, func(b *v1alpha1.ResourceBinding) { b.Status.Clusters[1].Available = 1 }, metav1.ConditionFalse, "Progressing", "4 of 5 replicas available and of the newest template: c2 1/2"},
		"of an old template": {web, func(b *v1alpha1.ResourceBinding) { b.Status.Clusters[0].Updated = 0 }, metav1.ConditionFalse, "Progressing", "2 of 5"},
		"stuck":              {web, func(b *v1alpha1.ResourceBinding) { b.Status.Clusters[0].Rollout = v1alpha1.RolloutStuck }, metav1.ConditionFalse, "RolloutStuck", "c1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := settled()
			if c.change != nil {
				c.change(b)
			}
			got := sum(&input{parsed[v1alpha1.FederatedDeployment](t, c.workload), b})
			ready := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionReady)
			if ready.Status != c.status || ready.Reason != c.reason || !strings.Contains(ready.Message, c.says) || ready.ObservedGeneration != 3 {
				t.Errorf("got %+v", ready)
			}
		})
	}
}

func TestNothingIsKnownOfAWorkloadWithoutABinding(t *testing.T) {
	got := sum(&input{workload: parsed[v1alpha1.FederatedDeployment](t, web)})
	for _, kind := range []string{v1alpha1.ConditionScheduled, v1alpha1.ConditionPropagated} {
		if c := meta.FindStatusCondition(got.Conditions, kind); c == nil || c.Status != metav1.ConditionUnknown {
			t.Errorf("%s: %+v", kind, c)
		}
	}
}

func TestASumIsWrittenOnceWithItsLines(t *testing.T) {
	hub := fleettest.Hub(t, interceptor.Funcs{}, parsed[v1alpha1.FederatedDeployment](t, web), settled())
	told := events.NewFakeRecorder(10)
	r := &Reconciler{Client: hub, Recorder: told}
	key := types.NamespacedName{Namespace: "shop", Name: "web"}
	look := func() *v1alpha1.FederatedDeployment {
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		d := &v1alpha1.FederatedDeployment{}
		if err := hub.Get(t.Context(), key, d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := look()
	if s := d.Status; s.Replicas != 5 || s.ReadyReplicas != 5 || s.AvailableReplicas != 5 || s.UpdatedReplicas != 5 || len(s.Clusters) != 2 || s.ObservedGeneration != 3 {
		t.Errorf("%+v", s)
	}
	if e := <-told.Events; !strings.Contains(e, "Available") {
		t.Error(e)
	}
	b := &v1alpha1.ResourceBinding{}
	if err := hub.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "deployment-web"}, b); err != nil {
		t.Fatal(err)
	}
	if !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("%+v", b.Status.Conditions)
	}
	if again := look(); again.ResourceVersion != d.ResourceVersion || len(told.Events) > 0 {
		t.Error("it was written again")
	}
}
