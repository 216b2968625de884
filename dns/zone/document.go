// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"fmt"
	"net/netip"
	"time"
)

// Document is what a Table is made of, and the form of a table file. Its zero value is a table without zones.
type Document struct {
	// Serial is the generation of the table and the serial of its SOA records. 0: 1.
	Serial uint32 `json:"serial,omitempty"`
	// TTL of the answers of every name that states none. Nil: DefaultTTL.
	TTL *TTL `json:"ttl,omitempty"`
	// ClusterSet is the zone clusterset.local. Nil: not served here.
	ClusterSet *ClusterSet `json:"clusterSet,omitempty"`
	// Global is the user's zone. Nil: not served here.
	Global *Global `json:"global,omitempty"`
}

// ClusterSet is the zone clusterset.local as the clients of one cluster see it.
type ClusterSet struct {
	// State says how much the content can be relied on. Empty: Synced.
	State State `json:"state,omitempty"`
	// NameServers of the zone. Empty: ns.clusterset.local, which has no address.
	NameServers []NameServer `json:"nameServers,omitempty"`
	// Services of the cluster set, each namespace and name once.
	Services []ClusterSetService `json:"services,omitempty"`
}

// ClusterSetService is a service of type ClusterSetIP.
type ClusterSetService struct {
	// Namespace of the service.
	Namespace string `json:"namespace"`
	// Name of the service.
	Name string `json:"name"`
	// TTL of its answers. Nil: the table's.
	TTL *TTL `json:"ttl,omitempty"`
	// Addresses of its import, of either family. Empty: the name exists and has none yet.
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

// Global is the user's zone.
type Global struct {
	// Origin is the name of the zone, such as global.example.com.
	Origin string `json:"origin"`
	// State says how much the content can be relied on. Empty: Synced.
	State State `json:"state,omitempty"`
	// NameServers of the zone. Empty: ns.ORIGIN, which has no address: enough for a zone that resolvers are pointed at,
	// not for one that its parent delegates.
	NameServers []NameServer `json:"nameServers,omitempty"`
	// Clusters that services can name, each once.
	Clusters []Cluster `json:"clusters,omitempty"`
	// Services of the zone, each namespace and name once.
	Services []GlobalService `json:"services,omitempty"`
}

// NameServer is a name server of a zone.
type NameServer struct {
	// Name of the server, with or without a dot at its end.
	Name string `json:"name"`
	// Addresses of the server. Only for a name within the zone, which needs them to be found.
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

// Cluster is where clients enter one member.
type Cluster struct {
	// Name of the Cluster.
	Name string `json:"name"`
	// Addresses of its gateway, of either family. Empty: it is never answered.
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

// GlobalService has NAME.NS.ORIGIN and, if it has a host name, that too.
type GlobalService struct {
	// Namespace of the service.
	Namespace string `json:"namespace"`
	// Name of the service.
	Name string `json:"name"`
	// Hostname is a further name, within the zone. Empty: none.
	Hostname string `json:"hostname,omitempty"`
	// TTL of its answers. Nil: the table's.
	TTL *TTL `json:"ttl,omitempty"`
	// Clusters that have the service, each once.
	Clusters []Share `json:"clusters,omitempty"`
}

// Share is one cluster's part of a service's answers.
type Share struct {
	// Name of the cluster.
	Name string `json:"name"`
	// Weight against the sum of all, 1000000 at most. 0: the cluster is not answered.
	Weight uint32 `json:"weight"`
}

// State says how much the content of a zone can be relied on.
type State string

// The closed list of states. An empty State is Synced.
const (
	// Synced: the content is complete and fresh. What is not in it does not exist.
	Synced State = "Synced"
	// Stale: the content was complete and may be outdated. What is not in it can not be told.
	Stale State = "Stale"
	// Unsynced: the content was never complete. Nothing can be told.
	Unsynced State = "Unsynced"
)

// TTL is a time to live in whole seconds, written as "5s" or "1m30s". 0: answers are not to be cached.
type TTL uint32

// Times to live, in seconds.
const (
	// DefaultTTL of a name that states none.
	DefaultTTL TTL = 5
	// MaxTTL that a name may state: one hour.
	MaxTTL TTL = 3600
	// NegativeTTL is how long a negative answer may be cached (RFC 2308).
	NegativeTTL TTL = 5
	// StaleTTL is the most that an answer of a stale zone has.
	StaleTTL TTL = 30
	// nsTTL is that of name servers and their addresses, which only people change.
	nsTTL TTL = 3600
)

// String writes the time as it is read.
func (t TTL) String() string { return t.Duration().String() }

// Duration returns the time to live as such.
func (t TTL) Duration() time.Duration { return time.Duration(t) * time.Second }

// MarshalText writes the time as it is read.
func (t TTL) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads whole seconds between 0s and 1h.
func (t *TTL) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 || d > MaxTTL.Duration() || d%time.Second != 0 {
		return fmt.Errorf("%q is no time to live: give whole seconds between 0s and 1h, such as 5s", text)
	}
	*t = TTL(d / time.Second) //nolint:gosec // between 0 and MaxTTL.
	return nil
}
