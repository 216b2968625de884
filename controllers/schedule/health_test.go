// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/sched/filter"
)

func TestAMemberInWhichTheHubMayNotWriteKeepsWhatItHasAndGetsNothing(t *testing.T) {
	for reason, want := range map[string]filter.Health{
		v1alpha1.ReasonOtherHub:        filter.Partitioned,
		v1alpha1.ReasonNewerLeader:     filter.Partitioned,
		v1alpha1.ReasonEpochNotTaken:   filter.Partitioned,
		"IstioClusterIDDiffers":        filter.Healthy,
		v1alpha1.ReasonNotSupported:    filter.Healthy,
		v1alpha1.ReasonNoCredentials:   filter.Healthy,
		v1alpha1.ReasonInvalidTemplate: filter.Healthy,
	} {
		c := &v1alpha1.Cluster{Status: v1alpha1.ClusterStatus{Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason},
			{Type: v1alpha1.ConditionHealthy, Status: metav1.ConditionTrue, Reason: "Beating"},
		}}}
		if got := healthOf(c); got != want {
			t.Errorf("%s: %v, want %v", reason, got, want)
		}
	}
}
