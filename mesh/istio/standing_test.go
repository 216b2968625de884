// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-io/weir/mesh/istio"
)

func TestWhatStandsIsReadBackAsItWasWritten(t *testing.T) {
	_, live := applied(t)
	rule, err := istio.ParseRule(live)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := istio.ReadStanding(rule)
	want := istio.Standing{Generation: 7, Percent: map[string]int32{istio.SubsetName("c1"): 50, istio.SubsetName("c2"): 50}}
	if d := cmp.Diff(want, got); !ok || d != "" {
		t.Errorf("read: %t\n%s", ok, d)
	}
}

func TestWhatSaysNoWeightOfWeirsIsNotReadBack(t *testing.T) {
	for name, change := range map[string]func(map[string]any){
		"a rule of somebody else": func(live map[string]any) {
			live["metadata"].(map[string]any)["labels"] = map[string]any{}
		},
		"a DestinationRule": func(live map[string]any) { live["kind"] = "DestinationRule" },
		"no routes":         func(live map[string]any) { live["spec"] = map[string]any{} },
		"odd weights": func(live map[string]any) {
			for i, odd := range []any{-5.0, "50"} {
				firstRoute(live)["route"].([]any)[i].(map[string]any)["weight"] = odd
			}
		},
		"no subsets": func(live map[string]any) {
			for _, d := range firstRoute(live)["route"].([]any) {
				delete(d.(map[string]any)["destination"].(map[string]any), "subset")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, live := applied(t)
			change(live)
			rule, err := istio.ParseRule(live)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := istio.ReadStanding(rule); ok {
				t.Errorf("read %+v", got)
			}
		})
	}
}
