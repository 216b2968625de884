// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"slices"
	"time"

	"github.com/weir-io/weir/dns/zone"
)

// Standing says whether answers, or caches of them, may still name a cluster. Its values are those of a shift.
type Standing string

// The closed list of standings.
const (
	// Named: answers name the cluster.
	Named Standing = "Named"
	// Cached: answers no longer name it, but caches may.
	Cached Standing = "Cached"
	// Expired: the last answer has outlived its TTL and grace.
	Expired Standing = "Expired"
	// Unused: no name of the service gives single clusters away.
	Unused Standing = "Unused"
)

// Query asks how one cluster stands in the answers of one service.
type Query struct {
	// Names of the service that name single clusters, in the form of zone.Target. None: Unused.
	Names []string
	// Cluster that is asked about.
	Cluster string
	// OutSince is the serial of the first table in which the cluster is not answered any more under any of the names.
	// 0: it is answered.
	OutSince uint32
	// OutAt is when that table was made. Restarted servers are judged by it.
	OutAt time.Time
	// TTL that answers had before, at most. It stands in for what a server that restarted has forgotten.
	TTL zone.TTL
	// Grace after the TTL, for answers on their way and for caches that round up.
	Grace time.Duration
	// Servers that clients may ask, each with its report; nil where the server was not heard.
	Servers []*zone.Report
	// Now is the time at which the reports were read.
	Now time.Time
}

// StandingOf says how the cluster stands, and when what is Cached will have expired; zero for every other standing.
func StandingOf(q Query) (Standing, time.Time) {
	if len(q.Names) == 0 {
		return Unused, time.Time{}
	}
	if q.OutSince == 0 {
		return Named, time.Time{}
	}
	ends := q.OutAt.Add(q.Grace)
	if len(q.Servers) == 0 { // Whoever answered before can not be asked.
		ends = ends.Add(q.TTL.Duration())
	}
	for _, r := range q.Servers {
		if r == nil || r.Serial == 0 || r.Serial < q.OutSince {
			return Named, time.Time{}
		}
		// Whoever answered before it may have named the cluster until then, though it was withdrawn only after.
		ends = later(ends, r.Since.Add(q.TTL.Duration()+q.Grace))
		for _, g := range r.Given {
			if g.Cluster == q.Cluster && slices.Contains(q.Names, g.Name) {
				ends = later(ends, g.CachedUntil.Add(q.Grace))
			}
		}
	}
	if q.Now.Before(ends) {
		return Cached, ends
	}
	return Expired, time.Time{}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
