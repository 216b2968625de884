// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"net/netip"
	"slices"
)

// Target is one service that the prover watches, and what is wanted of it. The
// whole list is handed to Watch again whenever any of it changes.
type Target struct {
	// Namespace and Name identify the service.
	Namespace string
	Name      string
	// Hosts are the fully qualified names under which the mesh serves it, for
	// example "echo.demo.svc.cluster.local".
	Hosts []string
	// Ports are the service's ports.
	Ports []Port
	// Subsets are the subset names of our DestinationRules. The default
	// cluster, which names no subset, is always looked at besides.
	Subsets []string
	// Generation is the generation of our routes that is to be proven. Zero
	// means that no routes of ours exist, so weights are not judged.
	Generation int64
	// FenceGeneration counts the changes of the fence, the second label that
	// forces a later push among them. It is only handed back in the verdict,
	// so that an answer can be matched with its question.
	FenceGeneration int64
	// Fenced are the addresses of pods that no proxy may hold any more.
	Fenced []Address
	// Gateways are the addresses of east-west gateways of other networks that
	// no proxy here may hold any more, because all that they stand for is
	// fenced.
	Gateways []Address
	// Served are the addresses of pods that every proxy must hold again,
	// because their fence was taken away.
	Served []Address
	// Selector chooses, in Namespace of this member, the pods whose arrivals
	// are measured. Empty measures none.
	Selector map[string]string
	// Active says that a shift is under way: the prover reads every second
	// and lists every proxy. At rest it reads every 30 seconds and lists only
	// what blocks.
	Active bool
}

// Port is a port of a service as the mesh routes it.
type Port struct {
	Number int32
	// Routed says that the mesh routes this port by RDS (HTTP, HTTP/2, gRPC).
	// Connections to other ports carry no generation: their clients are
	// unweighted and only the fence moves them.
	Routed bool
	// Detected says that the mesh finds out the port's protocol by looking at
	// each connection, so that the port has a route configuration for each
	// host (see istio.RouteConfigName). It means nothing unless Routed.
	Detected bool
}

// Address is an endpoint's address and the network that it belongs to.
type Address struct {
	IP netip.Addr
	// Network is the Istio network. Addresses may repeat on other networks;
	// empty means that this one does not.
	Network string
}

// Key names a target.
type Key struct {
	Namespace string
	Name      string
}

// String returns namespace/name.
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// Key returns what identifies t.
func (t Target) Key() Key { return Key{Namespace: t.Namespace, Name: t.Name} }

// hasRoutes tells whether there are routes of ours whose generation shows.
func (t Target) hasRoutes() bool {
	return t.Generation != 0 && slices.ContainsFunc(t.Ports, func(p Port) bool { return p.Routed })
}

// absent returns the addresses that no proxy of network may hold, in order. A
// gateway's address is one that other networks dial, so it counts everywhere
// but at home.
func (t Target) absent(network string) []netip.Addr {
	out := local(t.Fenced, network)
	for _, a := range t.Gateways {
		if a.Network == "" || a.Network != network {
			out = append(out, a.IP.Unmap())
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// present returns the addresses that every proxy of network must hold, in order.
func (t Target) present(network string) []netip.Addr {
	out := local(t.Served, network)
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// local returns the addresses that mean a pod on network. The same address on
// another network is another pod, which only its own network's proxies dial.
func local(all []Address, network string) []netip.Addr {
	var out []netip.Addr
	for _, a := range all {
		if a.Network == "" || network == "" || a.Network == network {
			out = append(out, a.IP.Unmap())
		}
	}
	return out
}
