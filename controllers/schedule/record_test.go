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

func TestOfMoreReasonsThanAreKeptThoseStayThatAreLookedForLater(t *testing.T) {
	const room = v1alpha1.MaxDecisionReasons
	many := func(code reasons.Code) []reasons.Reason {
		out := make([]reasons.Reason, room)
		for i := range out {
			out[i] = reasons.Reason{Cluster: fmt.Sprintf("a%02d", i), Code: code}
		}
		return out
	}
	for name, c := range map[string]struct {
		all  []reasons.Reason
		want []string // the last of those that are kept
	}{
		"as many as there is room for":      {many(reasons.NoShare), []string{"a48", "a49"}},
		"those that only people read go":    {append(many(reasons.NoShare), reasons.Reason{Cluster: "b", Code: reasons.Drained}, reasons.Reason{Cluster: "c", Code: reasons.Suspect}), []string{"a47", "b", "c"}},
		"a drain before reasons that pass":  {append(many(reasons.NoView), reasons.Reason{Cluster: "b", Code: reasons.Drained}), []string{"a48", "b"}},
		"a name that nobody registered":     {append(many(reasons.NoShare), reasons.Reason{Cluster: "b", Code: reasons.NoCluster}), []string{"a48", "b"}},
		"of equals the first, in any order": {append(many(reasons.Suspect), reasons.Reason{Cluster: "b", Code: reasons.Suspect}), []string{"a48", "a49"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := kept(c.all)
			if len(got) != room || got[0].Cluster != "a00" {
				t.Fatalf("kept %d: %v", len(got), got)
			}
			for i, want := range c.want {
				if r := got[room-len(c.want)+i]; r.Cluster != want {
					t.Errorf("%s is kept and not %s", r.Cluster, want)
				}
			}
		})
	}
}
