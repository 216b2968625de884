// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weir-io/weir/mesh/istio"
	"github.com/weir-io/weir/mesh/prover/push"
)

// The types of resources that a canary asks for.
const (
	TypeRoutes    = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
	TypeEndpoints = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
)

// remembered bounds how many nonces of the stream are kept. A reading of the
// replica is matched with them within seconds.
const remembered = 256

// Ledger is what one stream has told. The zero Ledger has been told nothing.
type Ledger struct {
	wanted    map[string]bool             // names subscribed to; nil means all
	routes    map[string]map[string]vhost // by route configuration, by virtual host
	endpoints map[string]assignment       // by Envoy cluster
	nonces    []string                    // the UUIDs of what came last
	last      push.Version                // the latest of all answers
	lastEDS   string                      // the UUID of the last answer with endpoints
}

// Retain forgets all but the named route configurations and clusters, and
// takes in nothing else from now on: what is not subscribed to may change
// without a push to us.
func (l *Ledger) Retain(names ...string) {
	l.wanted = make(map[string]bool, len(names))
	for _, n := range names {
		l.wanted[n] = true
	}
	maps.DeleteFunc(l.routes, func(n string, _ map[string]vhost) bool { return !l.wanted[n] })
	maps.DeleteFunc(l.endpoints, func(n string, _ assignment) bool { return !l.wanted[n] })
}

func (l *Ledger) wants(name string) bool { return l.wanted == nil || l.wanted[name] }

// vhost is the state of one virtual host.
type vhost struct {
	generation int64
	since      push.Version
	initial    bool
	foreign    string
}

// assignment is the state of one Envoy cluster's endpoints.
type assignment struct {
	addresses map[netip.Addr]bool
	last      push.Version
	initial   bool // last may have been sent to nobody but the canary
	// beyond means that others may have other addresses under last, and under
	// any version before the next answer about this cluster.
	beyond bool
}

// Apply takes in one answer of the stream. An error means that the stream can
// not be relied on any more.
//
// istiod answers a canary alone, too: when it asks for more names, under the
// last push of more than endpoints, which may be older than the push of
// endpoints that came before; and when the pod with its address has changed.
// Such an answer holds the endpoints of the moment, whatever version it bears.
func (l *Ledger) Apply(r *discovery.DiscoveryResponse) error {
	nonce, err := push.ParseNonce(r.GetNonce())
	if err != nil {
		return err
	}
	if nonce.IsZero() {
		return fmt.Errorf("%w: an answer without a nonce", push.ErrMalformed)
	}
	v := nonce.Version
	if v.Counter > l.last.Counter {
		l.last = v
	}
	switch r.GetTypeUrl() {
	case TypeRoutes:
		err = each(r.GetResources(), func(rc *route.RouteConfiguration) { l.applyRoutes(rc, v) })
	case TypeEndpoints:
		err = each(r.GetResources(), func(a *endpoint.ClusterLoadAssignment) { l.applyEndpoints(a, l.last) })
	}
	if err != nil {
		return fmt.Errorf("push %s: %w", v, err)
	}
	if len(l.nonces) == remembered {
		l.nonces = slices.Delete(l.nonces, 0, 1)
	}
	l.nonces = append(l.nonces, nonce.ID)
	if r.GetTypeUrl() == TypeEndpoints {
		l.lastEDS = nonce.ID
	}
	return nil
}

// each unpacks the resources and hands them to use, one by one.
func each[T any, M interface {
	*T
	proto.Message
}](packed []*anypb.Any, use func(M)) error {
	for _, p := range packed {
		m := M(new(T))
		if err := p.UnmarshalTo(m); err != nil {
			return err
		}
		use(m)
	}
	return nil
}

func (l *Ledger) applyRoutes(rc *route.RouteConfiguration, v push.Version) {
	if !l.wants(rc.GetName()) {
		return
	}
	if l.routes == nil {
		l.routes = map[string]map[string]vhost{}
	}
	before, known := l.routes[rc.GetName()]
	now := make(map[string]vhost, len(rc.GetVirtualHosts()))
	for _, vh := range rc.GetVirtualHosts() {
		generation, foreign := judge(vh)
		state := vhost{generation: generation, since: v, initial: !known, foreign: foreign}
		if old, ok := before[vh.GetName()]; ok && old.generation == generation {
			// The same generation all along: the first push with it counts.
			state.since, state.initial = old.since, old.initial
		}
		now[vh.GetName()] = state
	}
	l.routes[rc.GetName()] = now
}

// judge returns the lowest generation of the virtual host's routes, and 0 with
// the name of the route when one of them is not ours.
func judge(vh *route.VirtualHost) (generation int64, foreign string) {
	for _, r := range vh.GetRoutes() {
		g, ours := istio.ParseRouteName(r.GetName())
		if !ours {
			return 0, r.GetName()
		}
		if generation == 0 || g < generation {
			generation = g
		}
	}
	return generation, ""
}

func (l *Ledger) applyEndpoints(a *endpoint.ClusterLoadAssignment, v push.Version) {
	if !l.wants(a.GetClusterName()) {
		return
	}
	if l.endpoints == nil {
		l.endpoints = map[string]assignment{}
	}
	old, known := l.endpoints[a.GetClusterName()]
	now := assignment{addresses: addresses(a), last: v, initial: true}
	same := maps.Equal(now.addresses, old.addresses)
	switch {
	case !known:
		// The first request of a stream is answered under the newest version. A
		// later one is not, and pushes about the cluster were not sent to us
		// before: one that is under way to others is not known here.
		now.beyond = l.lastEDS != ""
	case v.Counter > old.last.Counter:
		// The same content under a later version may be a push, or an answer to
		// the canary alone, which no proxy is sent. Like the first answer of a
		// stream it is to be reached, and may never be.
		now.initial = same
	case same:
		now.initial, now.beyond = old.initial, old.beyond
	default:
		// Two answers under one version: the second was for the canary alone,
		// and what changed is pushed to all under a later one.
		now.beyond = true
	}
	l.endpoints[a.GetClusterName()] = now
}

func addresses(a *endpoint.ClusterLoadAssignment) map[netip.Addr]bool {
	out := map[netip.Addr]bool{}
	for _, locality := range a.GetEndpoints() {
		for _, e := range locality.GetLbEndpoints() {
			// A draining endpoint is still held: persistent sessions use it.
			if ip, ok := address(e.GetEndpoint().GetAddress()); ok {
				out[ip] = true
			}
			for _, more := range e.GetEndpoint().GetAdditionalAddresses() {
				if ip, ok := address(more.GetAddress()); ok {
					out[ip] = true
				}
			}
		}
	}
	return out
}

func address(a *core.Address) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(a.GetSocketAddress().GetAddress())
	if err != nil {
		return netip.Addr{}, false
	}
	return ip.Unmap(), true
}
