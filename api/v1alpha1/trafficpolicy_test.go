// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPolicyNamesWhatIsNotServed(t *testing.T) {
	for name, test := range map[string]struct {
		spec TrafficPolicySpec
		want []string
	}{
		"silent":   {TrafficPolicySpec{}, nil},
		"defaults": {DefaultTrafficPolicySpec(), nil},
		"served": {TrafficPolicySpec{
			Mode: ModeFollowReplicas, Retries: RetryPolicy{Mode: RetryIdempotent}, Headroom: HeadroomRequire,
			Pace: ShiftPace{MaxStepPercent: 10, FenceStepPods: 1}, Clients: &ClientScope{Namespaces: []string{"shop"}},
		}, nil},
		"static":   {TrafficPolicySpec{Mode: ModeStatic, Weights: map[string]ClusterWeight{"c1": 1}}, []string{"spec.mode: Static"}},
		"standby":  {TrafficPolicySpec{Mode: ModeActivePassive, Order: []ClusterName{"c1", "c2"}}, []string{"spec.mode: ActivePassive"}},
		"nearest":  {TrafficPolicySpec{Mode: ModeLocality, Locality: &LocalityPolicy{}}, []string{"spec.mode: Locality"}},
		"overflow": {TrafficPolicySpec{Overflow: []OverflowRule{{From: "c1", To: "c2"}}}, []string{"spec.overflow: 1 rules"}},
		"all at once": {TrafficPolicySpec{
			Mode: ModeStatic, OnFailure: FailureInvertWeights, Failback: FailbackManual, Steering: SteeringOnDemand,
		}, []string{"spec.mode: Static", "spec.onFailure: InvertWeights", "spec.failback: Manual", "spec.steering: OnDemand"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.spec.Unserved()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFenceStepMovesSomePodsAndNeverMoreThanThereAre(t *testing.T) {
	for name, test := range map[string]struct {
		pace ShiftPace
		pods int32
		want int32
	}{
		"half of ten":             {ShiftPace{MaxStepPercent: 50}, 10, 5},
		"half of three, up":       {ShiftPace{MaxStepPercent: 50}, 3, 2},
		"one percent of one":      {ShiftPace{MaxStepPercent: 1}, 1, 1},
		"nothing said":            {ShiftPace{}, 4, 2},
		"a number":                {ShiftPace{MaxStepPercent: 50, FenceStepPods: 3}, 10, 3},
		"a number too large":      {ShiftPace{FenceStepPods: 30}, 10, 10},
		"no pods":                 {ShiftPace{FenceStepPods: 3}, 0, 0},
		"as many as an int holds": {ShiftPace{MaxStepPercent: 100}, 1<<31 - 1, 1<<31 - 1},
	} {
		if got := test.pace.FenceStep(test.pods); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		pace := ShiftPace{
			MaxStepPercent: rapid.Int32Range(0, 100).Draw(t, "percent"),
			FenceStepPods:  rapid.Int32Range(0, 10000).Draw(t, "pods a step"),
		}
		pods := rapid.Int32Range(1, 1<<31-1).Draw(t, "pods")
		if got := pace.FenceStep(pods); got < 1 || got > pods {
			t.Errorf("step of %d for %d pods", got, pods)
		}
	})
}
