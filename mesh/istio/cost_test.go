// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-io/weir/mesh/istio"
)

// priced returns a Service with an HTTP port in clusters of three endpoints each.
func priced(name string, clusters int, change ...func(*istio.Input)) istio.Input {
	in := istio.Input{
		Service:       istio.Service{Namespace: "shop", Name: name, Ports: []istio.Port{{Name: "http", Number: 80}}},
		ConfigCluster: "c0", Generation: 1,
	}
	for i := range clusters {
		in.Clusters = append(in.Clusters, istio.Cluster{Name: fmt.Sprint("c", i), Permille: 1, Endpoints: 3})
	}
	for _, c := range change {
		c(&in)
	}
	return in
}

func TestCostOfServices(t *testing.T) {
	clients := func(ns ...string) func(*istio.Input) {
		return func(in *istio.Input) { in.ClientNamespaces = ns }
	}
	cases := map[string]struct {
		services []istio.Input
		want     istio.Bill
	}{
		"nothing": {want: istio.Bill{Namespace: "*"}},
		"each subset holds all endpoints": {
			services: []istio.Input{priced("a", 3)},
			want:     istio.Bill{Namespace: "*", Clusters: 3, Endpoints: 27, Bytes: 240_000, Largest: []string{"shop/a"}},
		},
		"a hard subset holds its cluster's": {
			services: []istio.Input{priced("a", 3, func(in *istio.Input) { in.Subsets = istio.HardSubset })},
			want:     istio.Bill{Namespace: "*", Clusters: 3, Endpoints: 9, Bytes: 240_000, Largest: []string{"shop/a"}},
		},
		"a second host and a port without routes double it": {
			services: []istio.Input{priced("a", 3, func(in *istio.Input) {
				in.ClusterSetHost = true
				in.Service.Ports = append(in.Service.Ports, istio.Port{Name: "tcp", Number: 81}, istio.Port{Protocol: "UDP", Number: 53})
			})},
			want: istio.Bill{Namespace: "*", Clusters: 12, Endpoints: 108, Bytes: 960_000, Largest: []string{"shop/a"}},
		},
		"on demand has no subsets": {
			services: []istio.Input{priced("a", 3, func(in *istio.Input) { in.Steering = istio.OnDemand })},
			want:     istio.Bill{Namespace: "*"},
		},
		"what is not rendered is free": {
			services: []istio.Input{priced("a", 1), priced("b", 2, func(in *istio.Input) { in.Generation = 0 })},
			want:     istio.Bill{Namespace: "*"},
		},
		"another network is seen by its gateways": {
			services: []istio.Input{priced("a", 2, func(in *istio.Input) {
				in.Clusters[1].Network = "n2"
				in.Clusters[1].Endpoints = 50
				in.Gateways = []istio.Gateway{{Cluster: "c1", Network: "n2", Addresses: 2}}
			})},
			want: istio.Bill{Namespace: "*", Clusters: 2, Endpoints: 10, Bytes: 160_000, Largest: []string{"shop/a"}},
		},
		"the namespace that pays most": {
			services: []istio.Input{
				priced("all", 2), priced("web", 3, clients("web")), priced("both", 4, clients("web", "batch")),
			},
			want: istio.Bill{Namespace: "shop", Clusters: 9, Endpoints: 12 + 27 + 48, Bytes: 720_000, Largest: []string{"shop/both", "shop/web", "shop/all"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, istio.Cost(tc.services...)); diff != "" {
				t.Errorf("bill (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBudgetRefusesWithTheRemedies(t *testing.T) {
	b := istio.DefaultBudget()
	if got := b.Check(istio.Bill{Namespace: "*", Clusters: b.Clusters, Endpoints: b.Endpoints}); len(got) != 0 {
		t.Errorf("refused within the budget: %v", got)
	}
	got := b.Check(istio.Bill{Namespace: "web", Clusters: 2001, Endpoints: 20001, Largest: []string{"shop/a"}})
	if len(got) != 2 || !istio.Blocked(got) {
		t.Fatalf("got %v, want two reasons that block", got)
	}
	for i, want := range []string{"2001 Envoy clusters", "20001 endpoints"} {
		for _, part := range []string{want, "namespace web", "shop/a", "clients.namespaces", "Sidecar"} {
			if !strings.Contains(got[i].Message, part) {
				t.Errorf("%q does not say %q", got[i].Message, part)
			}
		}
	}
}

// TestBudgetHoldsADesignedFleet prices what the design names as affordable.
func TestBudgetHoldsADesignedFleet(t *testing.T) {
	var fleet []istio.Input
	for i := range 100 {
		fleet = append(fleet, priced(fmt.Sprint("s", i), 3))
	}
	if got := istio.DefaultBudget().Check(istio.Cost(fleet...)); len(got) != 0 {
		t.Errorf("100 services in 3 clusters are refused: %v", got)
	}
	for i := range 600 {
		fleet = append(fleet, priced(fmt.Sprint("t", i), 3))
	}
	if got := istio.DefaultBudget().Check(istio.Cost(fleet...)); !istio.Blocked(got) {
		t.Error("700 services in 3 clusters are not refused")
	}
}
