// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"strings"
	"testing"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/shift"
)

func TestHowAClusterStandsInDNSIsWhatIsOnRecord(t *testing.T) {
	gs := service(seen("c1", 3, 3), seen("c2", 3, 3), seen("c3", 3, 3), seen("c4", 3, 3), seen("c5", 3, 3), seen("c6", 3, 3))
	of := func() map[string]shift.DNS {
		out := map[string]shift.DNS{}
		for _, c := range stateOf(gs, nil, nil, now).Clusters {
			out[c.Name] = c.DNS
		}
		return out
	}
	for name, got := range of() {
		if got != shift.Unused {
			t.Errorf("without a zone %s is %s", name, got)
		}
	}
	gs.Status.Names = &v1alpha1.NamesStatus{Clusters: []v1alpha1.ClusterNames{
		{Name: "c1", Standing: v1alpha1.StandingNamed},
		{Name: "c2", Standing: v1alpha1.StandingCached},
		{Name: "c3", Standing: v1alpha1.StandingExpired},
		{Name: "c4", Standing: v1alpha1.StandingUnused},
		{Name: "c5", Standing: "Maybe"},
	}}
	want := map[string]shift.DNS{"c1": shift.Named, "c2": shift.Cached, "c3": shift.Expired, "c4": shift.Unused, "c5": shift.Named, "c6": shift.Named}
	for name, got := range of() {
		if got != want[name] {
			t.Errorf("%s is %s, want %s", name, got, want[name])
		}
	}
}

func TestAStepOfTheNamesChangesThemAloneAndIsSaid(t *testing.T) {
	gs := service(seen("c1", 3, 3), seen("c2", 3, 3))
	s := stateOf(gs, nil, nil, now)
	before, err := planOf(gs.Spec, s, shift.Step{Kind: shift.Wait})
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[shift.Kind]v1alpha1.DNSPresence{shift.DNSOut: v1alpha1.DNSWithdrawn, shift.DNSIn: v1alpha1.DNSNamed} {
		plan, err := planOf(before, s, shift.Step{Kind: kind, Cluster: "c2"})
		if err != nil || plan.Clusters[1].DNS != want || plan.Clusters[0].DNS != v1alpha1.DNSNamed || plan.Generation != before.Generation {
			t.Errorf("%s: %+v, %v", kind, plan, err)
		}
		if got := sentence(shift.Step{Kind: kind}, kind, "c2"); !strings.Contains(got, "c2") || !strings.Contains(got, "DNS") {
			t.Errorf("%s: %s", kind, got)
		}
	}
}
