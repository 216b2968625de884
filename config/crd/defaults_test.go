// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
)

// decode lets the API server admit a manifest and gives what a controller would read back.
func decode[T any](t *testing.T, kind, spec string) T {
	t.Helper()
	obj := object(t, manifest(kind, spec))
	if errs := servers(t)[kind].admit(t, obj, nil); len(errs) > 0 {
		t.Fatal(text(errs))
	}
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	var out T
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestServiceWithoutPolicyGetsWhatAnEmptyPolicyMeans(t *testing.T) {
	got := decode[v1alpha1.TrafficPolicy](t, "TrafficPolicy", "{}").Spec
	if diff := cmp.Diff(v1alpha1.DefaultTrafficPolicySpec(), got); diff != "" {
		t.Errorf("in Go (-) and by the API server (+):\n%s", diff)
	}
	if out := got.Unserved(); len(out) > 0 {
		t.Errorf("the default policy is not served: %v", out)
	}
}

func TestPartsOfAPolicyAreFilledInOneByOne(t *testing.T) {
	got := decode[v1alpha1.TrafficPolicy](t, "TrafficPolicy", "pace: {fenceStepPods: 3}\noverflow: [{from: c1, to: c2}]").Spec
	if want := (v1alpha1.ShiftPace{MaxStepPercent: 50, FenceStepPods: 3}); got.Pace != want {
		t.Errorf("pace is %+v, want %+v", got.Pace, want)
	}
	below := int32(60)
	want := v1alpha1.OverflowRule{
		From: "c1", To: "c2", Metric: "CPUUtilization", AbovePercent: 70, BelowPercent: &below, MovePercent: 30,
	}
	if diff := cmp.Diff(want, got.Overflow[0]); diff != "" {
		t.Errorf("overflow (-want +got):\n%s", diff)
	}
	local := decode[v1alpha1.TrafficPolicy](t, "TrafficPolicy", "mode: Locality\nlocality: {}").Spec.Locality
	order := []v1alpha1.LocalityLevel{v1alpha1.LocalityZone, v1alpha1.LocalityRegion, v1alpha1.LocalityAny}
	if diff := cmp.Diff(order, local.Order); diff != "" {
		t.Errorf("locality order (-want +got):\n%s", diff)
	}
}

func TestClusterDefaultsInGoAreThoseOfTheAPIServer(t *testing.T) {
	got := decode[v1alpha1.Cluster](t, "Cluster", registration("region: north"))
	silent := v1alpha1.Cluster{ObjectMeta: got.ObjectMeta}
	if got.Spec.SyncMode != v1alpha1.SyncPush || got.Spec.EdgeAutonomy != v1alpha1.EdgeAutonomyDisabled {
		t.Errorf("syncMode %q, edgeAutonomy %q", got.Spec.SyncMode, got.Spec.EdgeAutonomy)
	}
	if got.Spec.DeadAfter.Duration != v1alpha1.DefaultDeadAfter {
		t.Errorf("deadAfter is %s", got.Spec.DeadAfter.Duration)
	}
	interval, suspect := got.Spec.Heartbeat()
	wantInterval, wantSuspect := silent.Spec.Heartbeat()
	if interval != wantInterval || suspect != wantSuspect || interval != 10*time.Second || suspect != 3 {
		t.Errorf("by the API server %s and %d, in Go %s and %d, want 10s and 3", interval, suspect, wantInterval, wantSuspect)
	}
	if got.IstioID() != "x" {
		t.Errorf("istio ID is %q, want the name of the Cluster", got.IstioID())
	}
	if out := got.Spec.Unserved(); len(out) > 0 {
		t.Errorf("a plain registration is not served: %v", out)
	}
}

func TestDrainIsPatientAndCarefulUnlessTold(t *testing.T) {
	got := decode[v1alpha1.ClusterDrain](t, "ClusterDrain", "clusterName: c2").Spec
	want := v1alpha1.ClusterDrainSpec{
		ClusterName:  "c2",
		Desired:      v1alpha1.OutOfService,
		QuietTimeout: &metav1.Duration{Duration: 5 * time.Minute},
		HeadroomLoss: v1alpha1.HeadroomWait,
		LastCopy:     v1alpha1.LastCopyRefuse,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPreferenceDefaultsInGoAreThoseOfTheAPIServer(t *testing.T) {
	got := decode[v1alpha1.ReplicaSchedulingPreference](t, "ReplicaSchedulingPreference",
		"targetRef: {apiVersion: federation.weir.io/v1alpha1, kind: FederatedDeployment, name: web}").Spec.ReplicaPreference
	var none *v1alpha1.ReplicaPreference
	if diff := cmp.Diff(none.Share("c1"), got.Share("c1")); diff != "" {
		t.Errorf("without a preference (-) and of an empty one (+):\n%s", diff)
	}
	if got.RebalancePeriod == nil || got.RebalancePeriod.Duration != none.Period() || *got.MinReplicas != v1alpha1.DefaultMinReplicas {
		t.Errorf("period %v, minimum %d; in Go %s and %d", got.RebalancePeriod, *got.MinReplicas, none.Period(), v1alpha1.DefaultMinReplicas)
	}
}

func TestTemplateWantsOneReplicaUnlessTold(t *testing.T) {
	got := decode[v1alpha1.FederatedDeployment](t, "FederatedDeployment", "template: {spec: {}}\nplacement: {clusterTolerations: [{key: a}]}")
	if r := got.Spec.Template.Spec.Replicas; r == nil || *r != (&v1alpha1.FederatedDeployment{}).Wanted() || got.Wanted() != 1 {
		t.Errorf("the API server fills in %v, in Go it is %d", r, got.Wanted())
	}
	if op := got.Spec.Placement.ClusterTolerations[0].Operator; op != v1alpha1.TolerationEqual {
		t.Errorf("a toleration's operator is %q", op)
	}
}
