// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"net/netip"

	"github.com/weir-io/weir/dns/zone"
)

// Fleet is what the hub knows that names depend on.
type Fleet struct {
	// Serial of the table, above that of the table before it.
	Serial uint32
	// TTL of services that wish for none. Nil: zone.DefaultTTL.
	TTL *zone.TTL
	// Global is the user's zone. Nil: none.
	Global *Zone
	// ClusterSet is clusterset.local for the clients of one cluster. Nil: not served.
	ClusterSet *Zone
	// Clusters of the fleet.
	Clusters []Cluster
	// Services that are global.
	Services []Service
}

// Zone is what is said of a zone as such.
type Zone struct {
	// Origin of the zone; not read for ClusterSet.
	Origin string
	// State of what the fleet holds of it. Empty: zone.Synced.
	State zone.State
	// NameServers to announce.
	NameServers []zone.NameServer
}

// Cluster is one member.
type Cluster struct {
	// Name of the Cluster.
	Name string
	// Gateways are the addresses where clients from outside enter it.
	Gateways []netip.Addr
	// Service says whether it takes part as a whole. Empty: In.
	Service Presence
}

// Service is one global service.
type Service struct {
	// Namespace of the service.
	Namespace string
	// Name of the service.
	Name string
	// Hostname is the wish of annotation weir.io/hostname. Empty: none.
	Hostname string
	// Holds are host names that the service had, in any case and without a dot at the end: it keeps one that it still wishes
	// for, whoever else does.
	Holds []string
	// TTL is the wish of annotation weir.io/ttl. Empty: none.
	TTL string
	// ClusterSetIPs are the addresses of the import in the cluster that ClusterSet is for. Empty: none yet.
	ClusterSetIPs []netip.Addr
	// Clusters that have the service.
	Clusters []Entry
}

// Entry is one cluster's part of a service.
type Entry struct {
	// Cluster is the name of the member.
	Cluster string
	// Weight of the cluster in answers, against the sum of all. 0: not answered.
	Weight uint32
	// Presence in the answers of this service. Empty: In.
	Presence Presence
}

// Presence says whether answers may name a cluster.
type Presence string

// The closed list of presences. An empty one is In.
const (
	// In: answers may name it.
	In Presence = "In"
	// Out: answers do not name it, since it leaves or was withdrawn.
	Out Presence = "Out"
)

// Code is a reason in short.
type Code string

// The closed list of codes.
const (
	// BadHostname: the host name is none, or not in the zone.
	BadHostname Code = "BadHostname"
	// HostnameTaken: another service has the name.
	HostnameTaken Code = "HostnameTaken"
	// NoZone: a host name is wished for, and there is no global zone.
	NoZone Code = "NoZone"
	// BadTTL: the time to live is none, or out of bounds; the default is in force.
	BadTTL Code = "BadTTL"
	// NoGateway: a cluster has no address to enter by, so answers do not name it.
	NoGateway Code = "NoGateway"
	// NoTarget: no cluster is left to name, so the service's names have no address.
	NoTarget Code = "NoTarget"
	// NoAddress: the import has no address yet.
	NoAddress Code = "NoAddress"
	// BadInput: the fleet holds what no table can; it was left out.
	BadInput Code = "BadInput"
)

// Reason is one thing that is not as it was wished.
type Reason struct {
	// Code in short.
	Code Code
	// Namespace and Name of the service it is about; empty when it is about none.
	Namespace, Name string
	// Cluster it is about; empty when it is about none.
	Cluster string
	// Message says it in a sentence, with the way out. It holds no number that moves.
	Message string
}
