// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DNSPresence says whether DNS answers may name a member.
//
// +kubebuilder:validation:Enum=Named;Withdrawn
type DNSPresence string

// Answers may name the member; or it was taken out of them on purpose.
const (
	DNSNamed     DNSPresence = "Named"
	DNSWithdrawn DNSPresence = "Withdrawn"
)

// NameWishes are what the owners of a Service ask of its names, as it stands in their annotations.
type NameWishes struct {
	// hostname that weir.io/hostname asks for. Empty: none.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Hostname string `json:"hostname,omitempty"`
	// ttl that weir.io/ttl asks for. Empty: the zone's.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	TTL string `json:"ttl,omitempty"`
}

// NamesStatus is what DNS answers for a service. It is on record before the first answer is given, and after the last.
type NamesStatus struct {
	// hosts of the service in the global zone, 4 at most.
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	Hosts []string `json:"hosts,omitempty"`
	// ttlSeconds is how long an answer may be cached.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +required
	TTLSeconds int32 `json:"ttlSeconds"`
	// heldUntil is when caches have forgotten what was answered under a longer ttl or another name. Unset: they have.
	// +optional
	HeldUntil *metav1.MicroTime `json:"heldUntil,omitempty"`
	// clusters says for each member how it stands in the answers.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	Clusters []ClusterNames `json:"clusters,omitempty"`
}

// ClusterNames is how one member stands in the answers of a service.
type ClusterNames struct {
	// name of the Cluster.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// standing says whether answers, or caches of them, may name the member.
	// +required
	Standing NameStanding `json:"standing"`
	// outSerial is the serial of the first table in which the member is not answered. 0: it is answered.
	// +kubebuilder:validation:Minimum=0
	// +optional
	OutSerial int64 `json:"outSerial,omitempty"`
	// outSince is when that table was put in force, by the hub's clock.
	// +optional
	OutSince *metav1.MicroTime `json:"outSince,omitempty"`
	// cachedUntil is when caches will have forgotten the member. Unset: it is answered, or they have.
	// +optional
	CachedUntil *metav1.Time `json:"cachedUntil,omitempty"`
}

// NameStanding says whether answers, or caches of them, may name a member.
//
// +kubebuilder:validation:Enum=Named;Cached;Expired;Unused
type NameStanding string

// Answers may name it; they do not any more, and caches may; the last answer has outlived its time; or no answer would name
// it, since it has no address, no replicas, or the service no name.
const (
	StandingNamed   NameStanding = "Named"
	StandingCached  NameStanding = "Cached"
	StandingExpired NameStanding = "Expired"
	StandingUnused  NameStanding = "Unused"
)
