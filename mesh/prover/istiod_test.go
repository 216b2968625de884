// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weir-io/weir/mesh/istio"
	"github.com/weir-io/weir/mesh/prover/canary"
)

// The one service of the fake mesh.
const (
	fakeHost   = "echo.demo.svc.cluster.local"
	fakePort   = int32(8080)
	fakeSubset = "weir-c2"
)

const (
	typeCDS = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	typeLDS = "type.googleapis.com/envoy.config.listener.v3.Listener"
)

// proxyKind is how a fake proxy reaches the service.
type proxyKind int

const (
	kindWeighted proxyKind = iota // a sidecar that uses our routes
	kindForeign                   // a gateway with a route of its own
	kindHidden                    // a sidecar that does not see the host
)

// fakeIstiod behaves as istiod does where the prover looks: pushes are made
// from a snapshot of the rules under a version, endpoints are read when an
// answer is made, a connection's pending pushes merge into one, a connection
// that asks is answered under the last push of more than endpoints, and what
// it tells of its connections is what was sent and acknowledged.
type fakeIstiod struct {
	mu      sync.Mutex
	name    string
	uid     string
	now     func() time.Time
	keep    bool  // push endpoints under the version before (Istio 1.30)
	config  int64 // the generation that its informers have shown
	index   map[netip.Addr]bool
	counter uint64
	ctx     fakeContext
	ids     uint64
	due     struct{ rules, endpoints bool } // since the last push
	conns   []*fakeConn
}

type fakeContext struct {
	version    string
	generation int64
}

// fakeConn is one stream.
type fakeConn struct {
	istiod  *fakeIstiod
	proxy   string
	kind    proxyKind
	canary  bool
	names   map[string][]string
	last    fakeContext // of the last push of more than endpoints
	pending struct{ rules, endpoints bool }
	status  map[string]fakeStatus
	out     func(fakeAnswer)
}

type fakeStatus struct {
	Sent      string    `json:"sent,omitempty"`
	Acked     string    `json:"acked,omitempty"`
	SentTime  time.Time `json:"sentTime,omitzero"`
	LastError string    `json:"lastError,omitempty"`
}

// fakeAnswer is what is sent. Proxies take the plain values, the canary the
// encoded ones.
type fakeAnswer struct {
	typeURL    string
	version    string
	nonce      string
	generation int64
	addresses  map[netip.Addr]bool
	encoded    *discovery.DiscoveryResponse
}

func newFakeIstiod(name, uid string, now func() time.Time, generation int64, addresses []netip.Addr) *fakeIstiod {
	i := &fakeIstiod{name: name, uid: uid, now: now, config: generation, index: map[netip.Addr]bool{}}
	for _, a := range addresses {
		i.index[a] = true
	}
	i.nextContext()
	return i
}

// nextContext takes a snapshot under a new version. The caller holds mu, or is
// alone.
func (i *fakeIstiod) nextContext() {
	i.counter++
	i.ctx = fakeContext{version: fmt.Sprintf("%s/%d", i.now().UTC().Format(time.RFC3339), i.counter), generation: i.config}
}

// observe is an informer's event: the generation, or nothing if 0, and the
// addresses, or nothing if nil.
func (i *fakeIstiod) observe(generation int64, addresses []netip.Addr) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if generation != 0 && generation != i.config {
		i.config, i.due.rules = generation, true
	}
	if addresses != nil {
		i.index = map[netip.Addr]bool{}
		for _, a := range addresses {
			i.index[a] = true
		}
		i.due.endpoints = true
	}
}

// push ends the debounce.
func (i *fakeIstiod) push() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.due.rules && !i.due.endpoints {
		return
	}
	if i.due.rules || !i.keep {
		i.nextContext()
	}
	for _, c := range i.conns {
		c.pending.rules = c.pending.rules || i.due.rules
		c.pending.endpoints = c.pending.endpoints || i.due.endpoints
	}
	i.due.rules, i.due.endpoints = false, false
}

// connect opens a stream. Answers go to out, in order.
func (i *fakeIstiod) connect(proxy string, kind proxyKind, isCanary bool, out func(fakeAnswer)) *fakeConn {
	i.mu.Lock()
	defer i.mu.Unlock()
	c := &fakeConn{
		istiod: i, proxy: proxy, kind: kind, canary: isCanary, names: map[string][]string{},
		last: i.ctx, status: map[string]fakeStatus{}, out: out,
	}
	i.conns = append(i.conns, c)
	if !isCanary {
		for _, t := range []string{typeCDS, canary.TypeEndpoints, typeLDS, canary.TypeRoutes} {
			c.send(t, nil, c.last)
		}
	}
	return c
}

// update is what istiod does for a connection whose pod has changed: all is
// sent anew to it alone, under the version that there is.
func (c *fakeConn) update() {
	c.istiod.mu.Lock()
	defer c.istiod.mu.Unlock()
	c.pending.rules, c.pending.endpoints = true, true
}

func (i *fakeIstiod) disconnect(c *fakeConn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.conns = slices.DeleteFunc(i.conns, func(o *fakeConn) bool { return o == c })
}

// process makes and sends what is pending for a connection.
func (c *fakeConn) process() {
	c.istiod.mu.Lock()
	defer c.istiod.mu.Unlock()
	if !c.pending.rules && !c.pending.endpoints {
		return
	}
	now := c.istiod.ctx
	rules, endpoints := c.pending.rules, c.pending.endpoints
	c.pending.rules, c.pending.endpoints = false, false
	if rules || c.istiod.keep {
		c.last = now
	}
	if c.kind == kindHidden {
		return
	}
	if rules && !c.canary {
		c.send(typeCDS, nil, now)
	}
	if endpoints && (!c.canary || len(c.names[canary.TypeEndpoints]) > 0) {
		c.send(canary.TypeEndpoints, c.names[canary.TypeEndpoints], now)
	}
	if rules && (!c.canary || len(c.names[canary.TypeRoutes]) > 0) {
		c.send(canary.TypeRoutes, c.names[canary.TypeRoutes], now)
	}
}

// send makes one answer. The caller holds the istiod's mu.
func (c *fakeConn) send(typeURL string, names []string, as fakeContext) {
	i := c.istiod
	i.ids++
	a := fakeAnswer{
		typeURL: typeURL, version: as.version, generation: as.generation, addresses: map[netip.Addr]bool{},
		nonce: fmt.Sprintf("%s%08x-0000-4000-8000-%012x", as.version, i.ids, i.ids),
	}
	for ip := range i.index {
		a.addresses[ip] = true
	}
	if c.canary {
		a.encoded = c.encode(a, names)
	}
	s := c.status[typeURL]
	s.Sent, s.SentTime = a.nonce, i.now()
	c.status[typeURL] = s
	c.out(a)
}

// request is a DiscoveryRequest as ShouldRespond of istiod takes it.
func (c *fakeConn) request(r *discovery.DiscoveryRequest) {
	c.istiod.mu.Lock()
	defer c.istiod.mu.Unlock()
	t := r.GetTypeUrl()
	s := c.status[t]
	if r.GetResponseNonce() != "" && r.GetResponseNonce() != s.Sent {
		return
	}
	if r.GetResponseNonce() != "" {
		s.Acked = r.GetResponseNonce()
		c.status[t] = s
	}
	var added []string
	for _, n := range r.GetResourceNames() {
		if !slices.Contains(c.names[t], n) {
			added = append(added, n)
		}
	}
	c.names[t] = r.GetResourceNames()
	if len(added) > 0 {
		c.send(t, added, c.last)
	}
}

// answer is a proxy's acknowledgement, or its refusal with text.
func (c *fakeConn) answer(typeURL, nonce, refusal string) {
	c.istiod.mu.Lock()
	defer c.istiod.mu.Unlock()
	s := c.status[typeURL]
	switch {
	case refusal != "":
		s.LastError = refusal
	case nonce == s.Sent:
		s.Acked, s.LastError = nonce, ""
	}
	c.status[typeURL] = s
}

func (c *fakeConn) encode(a fakeAnswer, names []string) *discovery.DiscoveryResponse {
	r := &discovery.DiscoveryResponse{VersionInfo: a.version, Nonce: a.nonce, TypeUrl: a.typeURL}
	for _, name := range names {
		var m proto.Message
		switch a.typeURL {
		case canary.TypeRoutes:
			m = fakeRoutes(name, a.generation)
		case canary.TypeEndpoints:
			m = fakeEndpoints(name, a)
		}
		packed, err := anypb.New(m)
		if err != nil {
			panic(err) // Only messages made above.
		}
		r.Resources = append(r.Resources, packed)
	}
	return r
}

func fakeRoutes(name string, generation int64) *route.RouteConfiguration {
	routes := []*route.Route{{Name: "default"}}
	if generation > 0 {
		routes = []*route.Route{
			{Name: istio.RouteName(generation, fakePort, istio.BranchReads)},
			{Name: istio.RouteName(generation, fakePort, istio.BranchRest)},
		}
	}
	return &route.RouteConfiguration{Name: name, VirtualHosts: []*route.VirtualHost{
		{Name: fmt.Sprintf("%s:%d", fakeHost, fakePort), Routes: routes},
		{Name: "allow_any", Routes: []*route.Route{{Name: "allow_any"}}},
	}}
}

func fakeEndpoints(name string, a fakeAnswer) *endpoint.ClusterLoadAssignment {
	out := &endpoint.ClusterLoadAssignment{ClusterName: name}
	if strings.Contains(name, fakeSubset) && a.generation == 0 {
		return out
	}
	l := &endpoint.LocalityLbEndpoints{}
	for ip := range a.addresses {
		l.LbEndpoints = append(l.LbEndpoints, &endpoint.LbEndpoint{HostIdentifier: &endpoint.LbEndpoint_Endpoint{
			Endpoint: &endpoint.Endpoint{Address: &core.Address{Address: &core.Address_SocketAddress{
				SocketAddress: &core.SocketAddress{Address: ip.String()},
			}}},
		}})
	}
	out.Endpoints = append(out.Endpoints, l)
	return out
}

// syncz is the answer of /debug/syncz.
func (i *fakeIstiod) syncz() []byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	list := make([]map[string]any, 0, len(i.conns))
	for _, c := range i.conns {
		resources := map[string]fakeStatus{}
		maps.Copy(resources, c.status)
		list = append(list, map[string]any{
			"proxy": c.proxy, "cluster_id": "c1", "proxy_type": "sidecar",
			"istio_version": "1.31.0", "resources": resources,
		})
	}
	out, err := json.Marshal(list)
	if err != nil {
		panic(err) // Only strings and times.
	}
	return out
}

// dump is the answer of /debug/config_dump; nil when the proxy is not here.
func (i *fakeIstiod) dump(proxy string) []byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, c := range i.conns {
		if c.proxy == proxy {
			return fakeDump(c.kind, c.last.generation)
		}
	}
	return nil
}

func fakeDump(kind proxyKind, generation int64) []byte {
	if kind == kindHidden {
		return []byte(`{"configs":[]}`)
	}
	base := istio.EnvoyCluster(fakePort, "", fakeHost)
	sub := istio.EnvoyCluster(fakePort, fakeSubset, fakeHost)
	name := istio.RouteName(max(generation, 1), fakePort, istio.BranchAll)
	if generation == 0 || kind == kindForeign {
		name = "users-own"
	}
	configs := []map[string]any{{"@type": typeCDS, "name": base, "type": "EDS"}}
	if generation > 0 {
		configs = append(configs, map[string]any{"@type": typeCDS, "name": sub})
	}
	configs = append(configs, map[string]any{
		"@type": canary.TypeRoutes, "name": "8080",
		"virtualHosts": []any{map[string]any{
			"name": fakeHost + ":8080", "domains": []any{fakeHost},
			"routes": []any{map[string]any{"name": name, "route": map[string]any{"cluster": base}}},
		}},
	})
	out, err := json.Marshal(map[string]any{"configs": configs})
	if err != nil {
		panic(err) // Only strings.
	}
	return out
}
