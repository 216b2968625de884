// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/sched"
)

// TestReplicasThatAreOnTheirWayOutAreNotWaitedFor: a decision for fewer takes those without a node first, and the next one
// must not take them again.
func TestReplicasThatAreOnTheirWayOutAreNotWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		decided           int64
		applied, pending  int32
		waiting, standing int64
	}{
		"all run":                          {3, 3, 0, 0, 3},
		"two have no node":                 {3, 3, 2, 2, 1},
		"those two were taken away":        {1, 3, 2, 0, 1},
		"one of the two was":               {2, 3, 2, 1, 1},
		"more is decided than asked for":   {5, 3, 2, 2, 3},
		"more wait than were ever decided": {2, 2, 9, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := &v1alpha1.ResourceBinding{}
			b.Status.Clusters = []v1alpha1.MemberReplicas{{Name: "c1", Applied: c.applied, Pending: c.pending}}
			e := &entry{binding: b, request: sched.Request{Current: map[string]sched.Placement{"c1": {Replicas: c.decided}}}}
			e.waiting()
			got := e.request.Current["c1"]
			if got.Waiting != c.waiting || got.Replicas-got.Waiting != c.standing {
				t.Errorf("%d of %d wait", got.Waiting, got.Replicas)
			}
		})
	}
}
