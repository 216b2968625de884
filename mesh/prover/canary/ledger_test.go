// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weir-io/weir/mesh/istio"
	"github.com/weir-io/weir/mesh/prover/push"
)

// recorded are answers of istiod 1.31 to a canary: routes of generation 3 and
// endpoints, then a write of generation 4, then a fence of 10.201.1.10.
func recorded(t *testing.T) []*discovery.DiscoveryResponse {
	t.Helper()
	f, err := os.Open("testdata/pushes-1.31.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []*discovery.DiscoveryResponse
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var b []byte
		r := &discovery.DiscoveryResponse{}
		if err := errors.Join(json.Unmarshal(lines.Bytes(), &b), proto.Unmarshal(b, r)); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func TestRecordedPushesTellWhichCarriesWhat(t *testing.T) {
	const host = "echo.prover.svc.cluster.local"
	fenced := netip.MustParseAddr("10.201.1.10")
	query := func(generation int64) Query {
		return Query{
			Generation: generation, VirtualHosts: []VirtualHost{{Configs: []string{"8080"}, Name: host + ":8080"}},
			Clusters: []string{istio.EnvoyCluster(8080, "", host), istio.EnvoyCluster(8080, "weir-c1", host), istio.EnvoyCluster(8080, "weir-c2", host)},
			Absent:   []netip.Addr{fenced},
		}
	}
	type seen struct {
		routes3, routes4, fence Sight
		push4, pushFence        uint64
		initial3                bool
	}
	want := []seen{
		{routes3: SightNew, initial3: true, routes4: SightOld, fence: SightNone},
		{routes3: SightNew, initial3: true, routes4: SightOld, fence: SightOld},
		{routes3: SightNew, routes4: SightNew, push4: 103, fence: SightOld},
		{routes3: SightNew, routes4: SightNew, push4: 103, fence: SightNew, pushFence: 104},
	}
	var l Ledger
	for n, r := range recorded(t) {
		if err := l.Apply(r); err != nil {
			t.Fatal(err)
		}
		a3, a4 := l.Ask(query(3)), l.Ask(query(4))
		got := seen{
			routes3: a3.Routes.Sight, initial3: a3.Routes.Initial, routes4: a4.Routes.Sight, fence: a4.Fence.Sight,
			push4: a4.Routes.Push.Counter, pushFence: a4.Fence.Push.Counter,
		}
		if got != want[n] {
			t.Errorf("after answer %d (%s): %+v, want %+v", n, r.GetNonce(), got, want[n])
		}
		nonce, err := push.ParseNonce(r.GetNonce())
		if err != nil || !l.Received(nonce.ID) {
			t.Errorf("answer %d is not remembered: %v", n, err)
		}
	}
}

// answer makes one answer of a fake istiod.
func answer(t *testing.T, counter int, id int, resources ...proto.Message) *discovery.DiscoveryResponse {
	t.Helper()
	r := &discovery.DiscoveryResponse{Nonce: fmt.Sprintf("2026-08-27T12:00:00Z/%d%08x-0000-4000-8000-%012x", counter, id, id)}
	for _, m := range resources {
		packed, err := anypb.New(m)
		if err != nil {
			t.Fatal(err)
		}
		r.TypeUrl = packed.GetTypeUrl()
		r.Resources = append(r.Resources, packed)
	}
	return r
}

func routes(name string, routes ...string) *route.RouteConfiguration {
	vh := &route.VirtualHost{Name: "h:80"}
	for _, r := range routes {
		vh.Routes = append(vh.Routes, &route.Route{Name: r})
	}
	return &route.RouteConfiguration{Name: name, VirtualHosts: []*route.VirtualHost{vh}}
}

func endpoints(name string, ips ...string) *endpoint.ClusterLoadAssignment {
	l := &endpoint.LocalityLbEndpoints{}
	for _, ip := range ips {
		l.LbEndpoints = append(l.LbEndpoints, &endpoint.LbEndpoint{
			HealthStatus: core.HealthStatus_DRAINING,
			HostIdentifier: &endpoint.LbEndpoint_Endpoint{Endpoint: &endpoint.Endpoint{Address: &core.Address{
				Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{Address: ip}},
			}}},
		})
	}
	return &endpoint.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpoint.LocalityLbEndpoints{l}}
}

func apply(t *testing.T, l *Ledger, answers ...*discovery.DiscoveryResponse) {
	t.Helper()
	for _, r := range answers {
		if err := l.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRoutesCountFromTheFirstPushThatCarriesThem(t *testing.T) {
	q := Query{Generation: 2, VirtualHosts: []VirtualHost{{Configs: []string{"80", "h:80"}, Name: "h:80"}}}
	old, now, reads := istio.RouteName(1, 80, istio.BranchAll), istio.RouteName(2, 80, istio.BranchRest), istio.RouteName(2, 80, istio.BranchReads)
	for name, tc := range map[string]struct {
		answers []*discovery.DiscoveryResponse
		want    Finding
	}{
		"nothing yet":      {want: Finding{Sight: SightNone, Subject: "h:80"}},
		"another port":     {answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, routes("81", now))}, want: Finding{Sight: SightNone, Subject: "h:80"}},
		"host not there":   {answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, &route.RouteConfiguration{Name: "80"})}, want: Finding{Sight: SightBlind, Subject: "h:80"}},
		"from the start":   {answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, routes("80", now))}, want: Finding{Sight: SightNew, Push: version(5), Initial: true}},
		"start, repeated":  {answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, routes("80", now)), answer(t, 8, 2, routes("80", now))}, want: Finding{Sight: SightNew, Push: version(5), Initial: true}},
		"pushed":           {answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, routes("80", old)), answer(t, 7, 2, routes("80", now, reads)), answer(t, 9, 3, routes("80", now, reads))}, want: Finding{Sight: SightNew, Push: version(7)}},
		"half of them":     {answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, routes("80", now, old))}, want: Finding{Sight: SightOld, Subject: "h:80"}},
		"one is another's": {answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, routes("80", now, "own"))}, want: Finding{Sight: SightOld, Subject: "h:80 (route own)"}},
		"taken back":       {answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, routes("80", now)), answer(t, 6, 2, routes("80", old))}, want: Finding{Sight: SightOld, Subject: "h:80"}},
		"back and again": {
			answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, routes("80", now)), answer(t, 6, 2, routes("80", old)), answer(t, 7, 3, routes("80", now))},
			want:    Finding{Sight: SightNew, Push: version(7)},
		},
		"the later of two": {answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, routes("80", now)), answer(t, 6, 2, routes("h:80", now))}, want: Finding{Sight: SightNew, Push: version(6), Initial: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var l Ledger
			apply(t, &l, tc.answers...)
			got := l.Ask(q).Routes
			got.Push.At = tc.want.Push.At
			if got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

func version(counter uint64) push.Version { return push.Version{Counter: counter} }

func TestDrainingEndpointsAreStillServed(t *testing.T) {
	var l Ledger
	apply(t, &l, answer(t, 5, 1, endpoints("c", "10.0.0.1")))
	got := l.Ask(Query{Clusters: []string{"c"}, Absent: []netip.Addr{netip.MustParseAddr("10.0.0.1")}})
	if got.Fence.Sight != SightOld {
		t.Errorf("%+v: a draining endpoint is used by persistent sessions", got.Fence)
	}
}

func TestAddressesHaveToBeBackInEveryCluster(t *testing.T) {
	q := Query{Clusters: []string{"c", "d"}, Present: []netip.Addr{netip.MustParseAddr("10.0.0.1")}}
	var l Ledger
	apply(t, &l, answer(t, 5, 1, endpoints("c", "10.0.0.1"), endpoints("d")))
	if got := l.Ask(q).Fence; got.Sight != SightOld {
		t.Errorf("%+v", got)
	}
	apply(t, &l, answer(t, 6, 2, endpoints("d", "10.0.0.1")))
	if got := l.Ask(q).Fence; got.Sight != SightNew || got.Push.Counter != 6 || got.Initial {
		t.Errorf("%+v", got)
	}
}

// Answers to the canary alone hold what no proxy has been sent under their version.
func TestAfterAnAnswerToTheCanaryAloneOnlyTheNextOneTellsAPush(t *testing.T) {
	q := Query{Clusters: []string{"c"}}
	for name, tc := range map[string]struct {
		answers []*discovery.DiscoveryResponse
		want    Finding
	}{
		"a further cluster": {
			answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, endpoints("c", "10.0.0.1")), answer(t, 6, 2, endpoints("c")), answer(t, 6, 3, endpoints("d"))},
			want:    Finding{Sight: SightNew, Push: version(6)},
		},
		"a further cluster, and all again": {
			answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, endpoints("c", "10.0.0.1")), answer(t, 6, 2, endpoints("c")), answer(t, 6, 3, endpoints("c"), endpoints("d"))},
			want:    Finding{Sight: SightNew, Push: version(6)},
		},
		"others under the same version": {
			answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, endpoints("c", "10.0.0.1")), answer(t, 5, 2, endpoints("c"))},
			want:    Finding{Sight: SightNew, Push: version(5), Initial: true, Beyond: true},
		},
		"others under the same version, and again": {
			answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, endpoints("c", "10.0.0.1")), answer(t, 5, 2, endpoints("c")), answer(t, 5, 3, endpoints("c"))},
			want:    Finding{Sight: SightNew, Push: version(5), Initial: true, Beyond: true},
		},
		"and then the push to all": {
			answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, endpoints("c", "10.0.0.1")), answer(t, 5, 2, endpoints("c")), answer(t, 6, 3, endpoints("c"))},
			want:    Finding{Sight: SightNew, Push: version(6), Initial: true},
		},
		"and then a push of others": {
			answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, endpoints("c", "10.0.0.1")), answer(t, 5, 2, endpoints("c")), answer(t, 7, 3, endpoints("c", "10.0.0.2"))},
			want:    Finding{Sight: SightNew, Push: version(7)},
		},
		"asked for later": {
			answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, endpoints("d")), answer(t, 7, 2, endpoints("c"))},
			want:    Finding{Sight: SightNew, Push: version(7), Initial: true, Beyond: true},
		},
		"asked for later, and then pushed": {
			answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, endpoints("d")), answer(t, 7, 2, endpoints("c")), answer(t, 8, 3, endpoints("c"))},
			want:    Finding{Sight: SightNew, Push: version(8), Initial: true},
		},
		"under an older version": {
			answers: []*discovery.DiscoveryResponse{answer(t, 5, 1, endpoints("d")), answer(t, 7, 2, endpoints("d", "10.0.0.1")), answer(t, 5, 3, endpoints("c"))},
			want:    Finding{Sight: SightNew, Push: version(7), Initial: true, Beyond: true},
		},
		"others under an older version": {
			answers: []*discovery.DiscoveryResponse{answer(t, 7, 1, endpoints("c", "10.0.0.1")), answer(t, 5, 2, endpoints("c"))},
			want:    Finding{Sight: SightNew, Push: version(7), Initial: true, Beyond: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var l Ledger
			apply(t, &l, tc.answers...)
			got := l.Ask(q).Fence
			got.Push.At = tc.want.Push.At
			if got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

// Routes are those of their version, however old: they are no reading of the moment.
func TestRoutesThatWereAskedForCountFromTheirOwnVersion(t *testing.T) {
	now := istio.RouteName(2, 80, istio.BranchAll)
	var l Ledger
	apply(t, &l, answer(t, 7, 1, endpoints("c")), answer(t, 5, 2, routes("80", now)))
	got := l.Ask(Query{Generation: 2, VirtualHosts: []VirtualHost{{Configs: []string{"80"}, Name: "h:80"}}}).Routes
	if got.Sight != SightNew || got.Push.Counter != 5 || !got.Initial {
		t.Errorf("%+v", got)
	}
}

func TestAStreamThatMakesNoSenseIsNotRelied(t *testing.T) {
	var l Ledger
	apply(t, &l, answer(t, 5, 1, endpoints("c")))
	for name, r := range map[string]*discovery.DiscoveryResponse{
		"no nonce":            {TypeUrl: TypeRoutes},
		"another nonce":       {TypeUrl: TypeRoutes, Nonce: "7"},
		"another type inside": {TypeUrl: TypeRoutes, Nonce: answer(t, 6, 3).GetNonce(), Resources: answer(t, 6, 3, endpoints("c")).GetResources()},
	} {
		if err := l.Apply(r); err == nil {
			t.Errorf("%s was taken in", name)
		}
	}
}

func TestWhatIsNotSubscribedToIsForgotten(t *testing.T) {
	var l Ledger
	q := Query{Clusters: []string{"c"}}
	apply(t, &l, answer(t, 5, 1, endpoints("c")), answer(t, 6, 2, endpoints("c")))
	l.Retain("d")
	apply(t, &l, answer(t, 7, 3, endpoints("c")))
	if got := l.Ask(q).Fence.Sight; got != SightNone {
		t.Errorf("sight is %s", got)
	}
	l.Retain("c")
	apply(t, &l, answer(t, 8, 4, endpoints("c")))
	if got := l.Ask(q).Fence; got.Sight != SightNew || !got.Initial {
		t.Errorf("%+v: what came between was not seen", got)
	}
}

func TestCanariesAreToldFromProxies(t *testing.T) {
	p := Place{Name: "agent-1", Namespace: "istio-system", IP: netip.MustParseAddr("10.0.0.9"), ClusterID: "c1", Network: "n", Version: "1.31.0"}
	if !IsCanary(p.ProxyName(), "istio-system") || IsCanary("weir-canary-x.shop", "istio-system") || IsCanary("web-0.istio-system", "istio-system") {
		t.Error("canaries and proxies are mixed up")
	}
	const want = "sidecar~10.0.0.9~weir-canary-agent-1.istio-system~istio-system.svc.cluster.local"
	if got := p.Node().GetId(); got != want {
		t.Errorf("node is %q, want %q", got, want)
	}
}
