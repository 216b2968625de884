// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"testing"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/shift"
)

func TestWhatIsWaitedForStandsBeforeRemarksAndOnlyItIsWoken(t *testing.T) {
	blocked := make([]shift.Blocked, v1alpha1.MaxBlocked, v1alpha1.MaxBlocked+1)
	for i := range blocked {
		blocked[i] = shift.Blocked{Code: shift.Unsteered, Cluster: "c2", Subject: "c1/gateway", Wakes: shift.ProofArrived, Note: true}
	}
	blocked = append(blocked, shift.Blocked{Code: shift.WeightsUnproven, Wakes: shift.ProofArrived})
	got := blockersOf(blocked)
	if len(got) != v1alpha1.MaxBlocked {
		t.Fatalf("%d are listed, want %d", len(got), v1alpha1.MaxBlocked)
	}
	if got[0].Code != "WeightsUnproven" || got[0].Wakes != "ProofArrived" {
		t.Errorf("first stands %+v", got[0])
	}
	if got[1].Code != "Unsteered" || got[1].Wakes != "" {
		t.Errorf("a remark is %+v", got[1])
	}
}
