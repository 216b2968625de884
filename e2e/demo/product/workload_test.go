// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package product

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/weir-io/weir/api/v1alpha1"
)

func TestAWorkloadIsReadWithItsTemplate(t *testing.T) {
	var d v1alpha1.FederatedDeployment
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{
		"metadata": map[string]any{"name": "web", "generation": int64(2)},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"replicas": int64(9), "paused": true, "template": map[string]any{"spec": map[string]any{}},
		}}},
	}, &d)
	if err != nil {
		t.Fatal(err)
	}
	if d.Wanted() != 9 || d.Generation != 2 || string(d.Spec.Template.Spec.Fields["paused"].Raw) != "true" {
		t.Errorf("%+v", d)
	}
}

func TestAWorkloadIsDividedWhenReplicasAndTrafficAreWhereTheyShallBe(t *testing.T) {
	whole := func() (v1alpha1.FederatedDeployment, v1alpha1.GlobalService) {
		var d v1alpha1.FederatedDeployment
		d.Namespace, d.Name, d.Generation = "demo", "web", 1
		d.Status.ObservedGeneration = 1
		d.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Available"}}
		d.Status.Clusters = []v1alpha1.MemberReplicas{{Name: "c1", Wanted: 3, Applied: 3, Ready: 3}}
		var gs v1alpha1.GlobalService
		gs.Status.Clusters = []v1alpha1.GlobalServiceClusterStatus{{Name: "c1", Binding: "demo/deployment-web"}}
		gs.Status.Shift.Step = "Done"
		return d, gs
	}
	for want, spoil := range map[string]func(*v1alpha1.FederatedDeployment, *v1alpha1.GlobalService){
		"":                            func(*v1alpha1.FederatedDeployment, *v1alpha1.GlobalService) {},
		"newest generation":           func(d *v1alpha1.FederatedDeployment, _ *v1alpha1.GlobalService) { d.Generation = 2 },
		"Moving: up first":            func(d *v1alpha1.FederatedDeployment, _ *v1alpha1.GlobalService) { d.Status.Conditions[0] = moving },
		"is not known":                func(_ *v1alpha1.FederatedDeployment, gs *v1alpha1.GlobalService) { gs.Status.Clusters[0].Binding = "" },
		"step Fence c2":               func(_ *v1alpha1.FederatedDeployment, gs *v1alpha1.GlobalService) { gs.Status.Shift = fencing },
		"4 replicas, 3 of them ready": func(d *v1alpha1.FederatedDeployment, _ *v1alpha1.GlobalService) { d.Status.Clusters[0].Applied = 4 },
	} {
		d, gs := whole()
		spoil(&d, &gs)
		if got := Undivided(d, gs); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

var (
	moving  = metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Moving", Message: "up first"}
	fencing = v1alpha1.ShiftStatus{Step: "Fence", Cluster: "c2"}
)
