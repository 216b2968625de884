// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-io/weir/mesh/istio"
)

// anyInput draws inputs that are well formed, and at times have no weight at all.
func anyInput(t *rapid.T) istio.Input {
	in := istio.Input{
		Service:    istio.Service{Namespace: "shop", Name: "reviews"},
		Generation: rapid.Int64Range(1, 1<<40).Draw(t, "generation"),
		Steering:   rapid.SampledFrom([]istio.Steering{istio.Always, istio.Always, istio.OnDemand}).Draw(t, "steering"),
		Retries:    rapid.SampledFrom([]istio.Retries{istio.Auto, istio.Idempotent, istio.Safe}).Draw(t, "retries"),
		Subsets:    rapid.SampledFrom([]istio.SubsetMode{istio.Preference, istio.HardSubset}).Draw(t, "subsets"),

		ClusterSetHost:   rapid.Bool().Draw(t, "clusterset"),
		ClientNamespaces: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3).Draw(t, "clients"),
	}
	names := []string{"http", "http-b", "grpc", "tcp", "https", "", "udp", "HTTP2-x", "grpc-web"}
	for i := range rapid.IntRange(0, 5).Draw(t, "ports") {
		in.Service.Ports = append(in.Service.Ports, istio.Port{
			Name: rapid.SampledFrom(names).Draw(t, "port"), Number: int32(8000 + i),
		})
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "clusters") {
		in.Clusters = append(in.Clusters, istio.Cluster{
			Name:      fmt.Sprint(rapid.SampledFrom([]string{"c", "Big.", "-"}).Draw(t, "cluster"), i),
			Permille:  rapid.SampledFrom([]int32{0, 0, 1, 5, 333, 500, 1000}).Draw(t, "permille"),
			Endpoints: rapid.Int32Range(0, 9).Draw(t, "endpoints"),
		})
	}
	in.ConfigCluster = "c0"
	return in
}

// TestEveryRouteHasTwoDestinationsAndAWeight: a sole destination ignores its
// weight, and weights that are all zero are refused or, worse, guessed.
func TestEveryRouteHasTwoDestinationsAndAWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		rules, reasons := istio.Render(in)
		if istio.Blocked(reasons) && len(rules.DestinationRules)+len(rules.VirtualServices) > 0 {
			t.Fatalf("rules in spite of %v", reasons)
		}
		if len(rules.DestinationRules) == 0 && len(reasons) == 0 {
			t.Fatal("no rules and no reason")
		}
		for _, ws := range routes(rules) {
			if len(ws) < 2 || len(ws) != len(in.Clusters) {
				t.Fatalf("route has %d destinations for %d clusters", len(ws), len(in.Clusters))
			}
			if sum(ws) != 100 {
				t.Fatalf("weights %v do not sum to 100", ws)
			}
			if slices.Min(ws) < 0 {
				t.Fatalf("weight below zero in %v", ws)
			}
		}
	})
}

// TestZeroStaysZeroAndMoreIsNeverZero: a drained cluster must get nothing, and a
// share that a shift counts on must not vanish.
func TestZeroStaysZeroAndMoreIsNeverZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := rapid.SliceOfN(rapid.Int32Range(0, 1000), 1, 100).Draw(t, "shares")
		weights, err := istio.Weights(shares)
		if slices.Max(shares) == 0 {
			if err == nil {
				t.Fatal("weights from nothing")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var total, written int64
		for i := range shares {
			total += int64(shares[i])
			written += int64(weights[i])
			if (shares[i] == 0) != (weights[i] == 0) {
				t.Fatalf("share %d became weight %d", shares[i], weights[i])
			}
		}
		if written != 100 {
			t.Fatalf("weights sum to %d", written)
		}
		for i := range shares {
			for j := range shares {
				if shares[i] > shares[j] && weights[i] < weights[j] {
					t.Fatalf("share %d got %d, but the smaller %d got %d", shares[i], weights[i], shares[j], weights[j])
				}
			}
		}
		holdRounding(t, shares, weights, total)
	})
}

// holdRounding: no weight is off by a whole percent, unless a share below one
// percent was rounded up.
func holdRounding(t *rapid.T, shares, weights []int32, total int64) {
	for _, s := range shares {
		if s > 0 && int64(s)*100 < total {
			return
		}
	}
	for i := range shares {
		off := int64(weights[i])*total - int64(shares[i])*100
		if max(off, -off) >= total {
			t.Fatalf("share %d of %d became %d %%", shares[i], total, weights[i])
		}
	}
}

func TestWeightsRefuse(t *testing.T) {
	cases := map[string][]int32{
		"no shares":        nil,
		"zeros":            {0, 0},
		"below zero":       {-1, 5},
		"more than a 100":  slices.Repeat([]int32{1}, 101),
		"below zero alone": {-1},
	}
	for name, shares := range cases {
		if w, err := istio.Weights(shares); err == nil {
			t.Errorf("%s: got %v, want an error", name, w)
		}
	}
}

// TestRenderIsBlindToOrderAndRepeatable compares the YAML, byte by byte.
func TestRenderIsBlindToOrderAndRepeatable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		want, wantReasons := istio.Render(in)
		again := in
		again.Clusters = rapid.Permutation(in.Clusters).Draw(t, "clusters' order")
		again.Service.Ports = rapid.Permutation(in.Service.Ports).Draw(t, "ports' order")
		again.ClientNamespaces = rapid.Permutation(in.ClientNamespaces).Draw(t, "clients' order")
		got, gotReasons := istio.Render(again)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("rules depend on order:\n%s", diff)
		}
		if diff := cmp.Diff(wantReasons, gotReasons); diff != "" {
			t.Fatalf("reasons depend on order:\n%s", diff)
		}
		if yamlOf(t, want) != yamlOf(t, got) {
			t.Fatal("YAML differs")
		}
	})
}

func yamlOf(t *rapid.T, r istio.Rules) string {
	out, err := r.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDestinationRulesDoNotMoveWithWeights: proxies rebuild a cluster whose
// settings change, and drop its connections.
func TestDestinationRulesDoNotMoveWithWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		before, reasons := istio.Render(in)
		if len(before.DestinationRules) == 0 {
			return
		}
		in.Generation++
		for i := range in.Clusters {
			in.Clusters[i].Permille = rapid.Int32Range(1, 1000).Draw(t, "new permille")
			in.Clusters[i].Endpoints++
		}
		after, _ := istio.Render(in)
		if diff := cmp.Diff(before.DestinationRules, after.DestinationRules); diff != "" {
			t.Fatalf("DestinationRules moved (%v):\n%s", reasons, diff)
		}
	})
}

// TestRoutesNameSubsetsThatExist: a route to a subset that no rule defines is
// answered 503.
func TestRoutesNameSubsetsThatExist(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules, _ := istio.Render(anyInput(t))
		defined := map[string]bool{}
		for _, dr := range rules.DestinationRules {
			spec := dr["spec"].(map[string]any)
			subsets, _ := spec["subsets"].([]any)
			for _, s := range subsets {
				defined[spec["host"].(string)+"/"+s.(map[string]any)["name"].(string)] = true
			}
		}
		for _, vs := range rules.VirtualServices {
			spec := vs["spec"].(map[string]any)
			for _, proto := range []string{"http", "tcp"} {
				list, _ := spec[proto].([]any)
				for _, r := range list {
					for _, d := range r.(map[string]any)["route"].([]any) {
						to := d.(map[string]any)["destination"].(map[string]any)
						if key := to["host"].(string) + "/" + to["subset"].(string); !defined[key] {
							t.Fatalf("no rule defines %s", key)
						}
					}
				}
			}
		}
	})
}
