// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"testing"

	"github.com/weir-io/weir/api/v1alpha1"
	reasons "github.com/weir-io/weir/sched/reason"
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

func TestOfMoreReasonsThanAreKeptThoseStayThatLaterDecisionsLookFor(t *testing.T) {
	var all []reasons.Reason
	for i := range v1alpha1.MaxDecisionReasons {
		all = append(all, reasons.Reason{Cluster: fmt.Sprintf("a%02d", i), Code: reasons.NoShare})
	}
	if got := kept(all); len(got) != len(all) {
		t.Errorf("of as many as there is room for %d are kept", len(got))
	}
	all = append(all, reasons.Reason{Cluster: "b", Code: reasons.Drained}, reasons.Reason{Cluster: "c", Code: reasons.Suspect})
	got := kept(all)
	if len(got) != v1alpha1.MaxDecisionReasons || got[0].Cluster != "a00" || got[47].Cluster != "a47" || got[48].Cluster != "b" || got[49].Cluster != "c" {
		t.Errorf("kept %v", got)
	}
	for i := range all {
		all[i].Code = reasons.Suspect
	}
	if got := kept(all); len(got) != v1alpha1.MaxDecisionReasons || got[49].Cluster != "a49" {
		t.Errorf("kept %v", got)
	}
}
