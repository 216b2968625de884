// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-io/weir/api/v1alpha1"
)

func TestExplainSaysByWhatReplicasAreDivided(t *testing.T) {
	n := func(i int32) *int32 { return &i }
	w := func(i v1alpha1.ClusterWeight) *v1alpha1.ClusterWeight { return &i }
	many := map[string]v1alpha1.ClusterWeight{}
	for i := range 12 {
		many[fmt.Sprintf("m%02d", i)] = 1
	}
	for name, c := range map[string]struct {
		preference *v1alpha1.ReplicaPreference
		want       string
	}{
		"none":     {nil, "no ReplicaSchedulingPreference names it: all members weigh the same"},
		"defaults": {&v1alpha1.ReplicaPreference{MinReplicas: n(1)}, "weight 1 each; at least 1 each"},
		"weights": {
			&v1alpha1.ReplicaPreference{Weight: map[string]v1alpha1.ClusterWeight{"c2": 2, "c1": 8}, MaxReplicas: n(9)},
			"weight c1 8, c2 2, others 0; at most 9 each",
		},
		"single clusters": {
			&v1alpha1.ReplicaPreference{MinReplicas: n(0), Clusters: map[string]v1alpha1.ClusterPreference{
				"c1": {Weight: w(3)}, "c2": {MinReplicas: n(2), MaxReplicas: n(4)},
			}},
			"weight c1 3, others 1; at least 0 each; c2 at least 2, at most 4",
		},
		"many": {&v1alpha1.ReplicaPreference{Weight: many}, "weight m00 1, m01 1, m02 1, m03 1, m04 1, m05 1, m06 1, m07 1, m08 1, m09 1 and 2 more, others 0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := preferenceLine(c.preference); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAClusterThatOnlyAPreferenceKnowsIsNamed(t *testing.T) {
	f := federated()
	f.bindings[0].Spec.Preference = &v1alpha1.ReplicaPreference{
		Weight:   map[string]v1alpha1.ClusterWeight{"c1": 1, "nrth": 4},
		Clusters: map[string]v1alpha1.ClusterPreference{"sth": {}},
	}
	notes := strings.Join(explainWorkload(f, &f.bindings[0], wish(), now).Notes, "\n")
	if !strings.Contains(notes, "names nrth, sth, and no Cluster of such a name is registered") {
		t.Errorf("got %q", notes)
	}
}
