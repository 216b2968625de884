// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"net/netip"
	"slices"

	"github.com/weir-io/weir/mesh/prover/push"
)

// VirtualHost is where routes for a host's port stand: Names are the route
// configurations that may hold the virtual host, of which one at least must.
type VirtualHost struct {
	Configs []string
	Name    string
}

// Query is what one wants to know of one service.
type Query struct {
	// Generation is the least that all routes of VirtualHosts must carry.
	Generation   int64
	VirtualHosts []VirtualHost
	// Clusters are the Envoy clusters whose endpoints are looked at, and
	// Absent the addresses that none of them may hold.
	Clusters []string
	Absent   []netip.Addr
	// Present are the addresses that all of Clusters must hold.
	Present []netip.Addr
}

// Sight is how a canary sees what was asked.
type Sight string

const (
	// SightNone means that no answer about it has come on this stream.
	SightNone Sight = "None"
	// SightBlind means that istiod answers, and has nothing of that name.
	SightBlind Sight = "Blind"
	// SightOld means that older routes, or an address that should be gone, are
	// served.
	SightOld Sight = "Old"
	// SightNew means that only what is wanted is served.
	SightNew Sight = "New"
)

// Finding is the answer to one half of a Query.
type Finding struct {
	Sight Sight
	// Push is the push that proxies have to reach; zero unless SightNew.
	Push push.Version
	// Initial means that Push may have come to this canary alone, as the first
	// answer of a stream does. A proxy that has reached it has what is wanted;
	// one that has not may have it, or never get a later push.
	Initial bool
	// Beyond means that no push is known that others have what is wanted by.
	// The next answer about it will tell one.
	Beyond bool
	// Subject names what is old or not served: a route, a cluster, an address.
	Subject string
}

// Answer is the answer to a Query.
type Answer struct {
	// Stream counts the streams of the canary; 0 means that none is open.
	Stream uint64
	// Routes is about the generation of the routes, Fence about the addresses.
	// Nothing tells of subsets: for one that no rule defines, istiod answers
	// with all endpoints of the host.
	Routes Finding
	Fence  Finding
	// Endpoints is the UUID of the last answer with endpoints.
	Endpoints string
}

// Ask answers q from what the stream has told.
func (l *Ledger) Ask(q Query) Answer {
	return Answer{Routes: l.askRoutes(q), Fence: l.askFence(q), Endpoints: l.lastEDS}
}

// Received tells whether the answer with that UUID came on this stream lately.
func (l *Ledger) Received(id string) bool {
	return id != "" && slices.Contains(l.nonces, id)
}

// askRoutes finds the push since which all virtual hosts carry the generation.
func (l *Ledger) askRoutes(q Query) Finding {
	out := Finding{Sight: SightNew}
	if len(q.VirtualHosts) == 0 {
		return Finding{Sight: SightNone}
	}
	for _, want := range q.VirtualHosts {
		answered, found := false, false
		for _, config := range want.Configs {
			hosts, ok := l.routes[config]
			answered = answered || ok
			state, ok := hosts[want.Name]
			if !ok {
				continue
			}
			found = true
			if state.generation < q.Generation || state.generation == 0 {
				return Finding{Sight: SightOld, Subject: subject(want.Name, state.foreign)}
			}
			out.raise(state.since, state.initial)
		}
		switch {
		case !answered:
			return Finding{Sight: SightNone, Subject: want.Name}
		case !found:
			return Finding{Sight: SightBlind, Subject: want.Name}
		}
	}
	return out
}

func subject(vhost, foreign string) string {
	if foreign == "" {
		return vhost
	}
	return vhost + " (route " + foreign + ")"
}

// askFence finds the newest push of the clusters, if none of them holds any of
// the absent addresses and each holds all of the present ones. Not the first
// push that is so: see the package
// prover on how endpoints are read.
func (l *Ledger) askFence(q Query) Finding {
	out := Finding{Sight: SightNew}
	if len(q.Clusters) == 0 {
		return Finding{Sight: SightNone}
	}
	for _, name := range q.Clusters {
		a, ok := l.endpoints[name]
		if !ok {
			return Finding{Sight: SightNone, Subject: name}
		}
		for _, ip := range q.Absent {
			if a.addresses[ip] {
				return Finding{Sight: SightOld, Subject: ip.String() + " in " + name}
			}
		}
		for _, ip := range q.Present {
			if !a.addresses[ip] {
				return Finding{Sight: SightOld, Subject: ip.String() + " not in " + name}
			}
		}
		out.raise(a.last, a.initial)
		out.Beyond = out.Beyond || a.beyond
	}
	return out
}

// raise makes v the push to reach where it is later than what is known so far.
// Of two alike, the one that was pushed while we watched tells more.
func (f *Finding) raise(v push.Version, initial bool) {
	switch {
	case v.Counter > f.Push.Counter:
		f.Push, f.Initial = v, initial
	case v.Counter == f.Push.Counter && !initial:
		f.Initial = false
	}
}
