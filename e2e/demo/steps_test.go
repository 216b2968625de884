// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
)

// recorded is a step of a drain at a second.
func recorded(kind string, at int64, fence *v1alpha1.ProofStatus) v1alpha1.StepRecord {
	return v1alpha1.StepRecord{
		Goal: v1alpha1.GoalDrain, Kind: kind, Cluster: "c2", StartedAt: metav1.NewMicroTime(time.Unix(at, 0)), Fence: fence,
	}
}

func TestHistoryKeepsEachStepOfTheRunOnceThoughTheServiceForgets(t *testing.T) {
	proof := &v1alpha1.ProofStatus{Level: v1alpha1.ProofProven, Istiods: []v1alpha1.IstiodProof{
		{Name: "c1/istiod", Push: "7", Proxies: []v1alpha1.ProxyProof{{Name: "x.demo", Acked: "8"}}},
	}}
	h := history{since: time.Unix(1, 0)}
	for _, steps := range [][]v1alpha1.StepRecord{
		{recorded("Done", 0, nil), recorded("Split", 1, nil), recorded("Fence", 2, nil)},
		{recorded("Fence", 2, nil), recorded("Done", 3, proof)},
	} {
		gs := v1alpha1.GlobalService{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "echo"}}
		gs.Status.Steps = steps
		h.keep(gs)
	}
	none := Proof{Level: "None", Istiods: []IstiodProof{}}
	step := func(kind string, at int64, fence Proof) Step {
		return Step{Goal: "Drain", Kind: kind, Cluster: "c2", Service: "demo/echo", Time: time.Unix(at, 0).UTC(), Weights: none, Fence: fence}
	}
	want := []Step{
		step("Split", 1, none), step("Fence", 2, none),
		step("Done", 3, Proof{Level: "Proven", Istiods: []IstiodProof{{Name: "c1/istiod", Push: "7", Proxies: []ProxyProof{{Name: "x.demo", Acked: "8"}}}}}),
	}
	if diff := cmp.Diff(want, h.all()); diff != "" {
		t.Fatal(diff)
	}
}

func TestAWeightIsThatOfTheClusterAskedFor(t *testing.T) {
	var gs v1alpha1.GlobalService
	gs.Status.Clusters = []v1alpha1.GlobalServiceClusterStatus{
		{Name: "c1", Weight: v1alpha1.WeightStatus{Wanted: 500, Written: 500, ProvenHigh: 500}},
		{Name: "c2", Weight: v1alpha1.WeightStatus{Wanted: 0, Written: 167, ProvenLow: 167, ProvenHigh: 334}},
	}
	if diff := cmp.Diff(&weight{Wanted: 0, Written: 167, Proven: 334}, weightOf(gs, "c2")); diff != "" {
		t.Error(diff)
	}
	if w := weightOf(gs, "c3"); w != nil {
		t.Errorf("weight %v of an unknown cluster", w)
	}
}
