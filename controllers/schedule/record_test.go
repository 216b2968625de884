// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"

	"github.com/weir-io/weir/api/v1alpha1"
)

func TestOfReplicasWithoutAPlaceAnUnknownClusterIsTheFirstReason(t *testing.T) {
	why := []v1alpha1.DecisionReason{
		{Cluster: "c1", Code: "NoRoom", Message: "full"},
		{Cluster: "c2", Code: "NoRoom", Message: "full"},
		{Cluster: "c3", Code: "NoRoom", Message: "full"},
		{Cluster: "sea", Code: "NoCluster", Message: "not registered"},
	}
	for name, c := range map[string]struct {
		history []v1alpha1.DecisionRecord
		wanted  int32
		want    string
	}{
		"no decision":        {nil, 1, "1 of 1 replica without a place"},
		"an unknown cluster": {[]v1alpha1.DecisionRecord{{Reasons: why}}, 2, "1 of 2 replicas without a place; sea: not registered; c1: full; c2: full; and more in status.history"},
		"known clusters":     {[]v1alpha1.DecisionRecord{{Reasons: why[:2]}}, 2, "1 of 2 replicas without a place; c1: full; c2: full"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := leftOver(c.history, 1, c.wanted); got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
