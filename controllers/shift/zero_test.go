// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAServedWorkloadOfWhichNoneIsWantedKeepsAllCopiesOfOneCluster(t *testing.T) {
	w := newOwned(t, 3, 3, 3)
	w.settle()
	w.decide(nil, 0, 0, 0)
	gs := w.settle()
	if d := cmp.Diff(map[string]int32{"c1": 0, "c2": 0, "c3": 3}, planned(gs)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]int32{"c1": 0, "c2": 0, "c3": 1000}, weights(gs)); d != "" {
		t.Error(d)
	}
	if b := gs.Status.Shift.Blocked; len(b) != 1 || b[0].Code != "LastCluster" || b[0].Cluster != "c3" {
		t.Errorf("it waits for %+v", b)
	}
	w.decide(nil, 2, 2, 2)
	if d := cmp.Diff(map[string]int32{"c1": 2, "c2": 2, "c3": 2}, planned(w.settle())); d != "" {
		t.Errorf("a new wish is not followed: %s", d)
	}
}
