// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"time"

	"github.com/weir-io/weir/mesh/prover/census"
	"github.com/weir-io/weir/mesh/prover/quiet"
)

// Level is how well a claim about the proxies is founded.
type Level string

const (
	// LevelNone means that the claim is not proven.
	LevelNone Level = "None"
	// LevelTimed means that istiod gives no access to what would prove the
	// claim, and that the stated time has passed since it was asked for.
	LevelTimed Level = "Timed"
	// LevelProven means that every proxy was seen to agree.
	LevelProven Level = "Proven"
)

// Verdict is what is known of one target at one time.
type Verdict struct {
	// Target names the service.
	Target Key
	// At is when the newest evidence was read, by this machine's clock.
	At time.Time
	// Generation and FenceGeneration are those of the target judged.
	Generation      int64
	FenceGeneration int64
	// Rules tells whether every proxy that can reach the service holds the
	// clusters of Subsets, so that routes may name them.
	Rules Proof
	// Weights tells whether every proxy uses the routes of Generation. Its
	// level is LevelNone for a target without routes.
	Weights Proof
	// Fence tells whether no proxy holds a fenced address, and each one those
	// that Served names. With no address to look for every connected proxy
	// agrees, and the census still has to.
	Fence Proof
	// Connected counts the proxies that the member's istiods list, ours apart.
	Connected int
	// Quiet are the pods that Selector chose, sorted by name.
	Quiet []quiet.Pod
}

// Proof is one of the claims, with its evidence and what stands against it.
type Proof struct {
	Level Level
	// Fresh means that the evidence is younger than the lease and that every
	// istiod process is the one it came from. Steps that depend on a proof
	// need a fresh one. It can be true with LevelNone.
	Fresh bool
	// Since is when the proof was first complete; zero while it is not.
	Since time.Time
	// Istiods are the replicas asked, sorted by name.
	Istiods []Istiod
	// Missing are proxies that should be connected and are not.
	Missing []census.Missing
	// Unweighted are clients that reach the service by routes that are not
	// ours. They do not stand against the proof of weights; the fence alone
	// releases them. Sorted by proxy.
	Unweighted []Unweighted
	// NeedsNewGeneration means that waiting can not complete this proof: a
	// canary came too late to see the push, so that only a new generation (a
	// new route name, a second label) can be compared with.
	NeedsNewGeneration bool
	// Reasons say what stands against the proof, most general first, at most
	// MaxReasons of them. Empty when Level is LevelProven.
	Reasons []Reason
}

// Istiod is one replica's part of a proof.
type Istiod struct {
	Name string
	// UID is the pod's, which with the canary's stream tells one process from
	// the next.
	UID string
	// Push is the version that proxies are measured against, as istiod writes
	// it; empty while the canary has not seen one.
	Push string
	// OK means that this replica and every proxy on it agree.
	OK bool
	// Concerned and Agreed count the proxies on this replica that the claim
	// binds, and those of them that agree.
	Concerned int
	Agreed    int
	// Proxies lists the concerned proxies, sorted by name, at most MaxProxies.
	// At rest it lists only those that do not agree.
	Proxies []Proxy
	// Reason says what is wrong with the replica itself; empty when nothing.
	Reason ReasonCode
}

// Proxy is one connected proxy's part of a proof.
type Proxy struct {
	// Name is pod.namespace, as istiod names it.
	Name string
	// Acked is the push that the proxy acknowledged last; empty for none.
	Acked  string
	OK     bool
	Reason ReasonCode
}

// Unweighted is a client whose routes to the service are not ours.
type Unweighted struct {
	// Proxy is pod.namespace.
	Proxy string
	// Via tells what leads it to the service: a route, a TCP chain or a
	// cluster alone, for example "route http.80 of cluster outbound|80||…".
	Via string
}

// ReasonCode tells why something is not proven. The list is closed.
type ReasonCode string

const (
	// ReasonUnreachable: the replica did not answer in time.
	ReasonUnreachable ReasonCode = "IstiodUnreachable"
	// ReasonNoAccess: the replica answers, and refuses its debug endpoints.
	ReasonNoAccess ReasonCode = "DebugNotAccessible"
	// ReasonUnreadable: the replica's answer could not be understood.
	ReasonUnreadable ReasonCode = "IstiodUnreadable"
	// ReasonNoCanary: the canary has no stream to the replica.
	ReasonNoCanary ReasonCode = "CanaryNotConnected"
	// ReasonUnbound: the reading is not from the process of the canary's stream.
	ReasonUnbound ReasonCode = "IstiodProcessChanged"
	// ReasonStaleReplica: the replica does not serve the generation yet.
	ReasonStaleReplica ReasonCode = "IstiodStale"
	// ReasonStillServed: the replica still serves a fenced address.
	ReasonStillServed ReasonCode = "FencedAddressServed"
	// ReasonBlind: the replica serves nothing at all for the host.
	ReasonBlind ReasonCode = "HostNotServed"
	// ReasonNoIstiod: the member runs no istiod that could be asked.
	ReasonNoIstiod ReasonCode = "NoIstiod"
	// ReasonBehind: the proxy has not acknowledged the push.
	ReasonBehind ReasonCode = "ProxyBehind"
	// ReasonRefused: the proxy refused an update and keeps the older one.
	ReasonRefused ReasonCode = "ProxyRefused"
	// ReasonUnknownScope: what the proxy can reach has not been read yet.
	ReasonUnknownScope ReasonCode = "ProxyScopeUnknown"
	// ReasonNoPush: there is no push to compare with.
	ReasonNoPush ReasonCode = "NeedsNewGeneration"
	// ReasonStarting: a proxy is starting and may carry what is old.
	ReasonStarting ReasonCode = "ProxyStarting"
	// ReasonDisconnected: a proxy runs and is connected to no istiod.
	ReasonDisconnected ReasonCode = "ProxyDisconnected"
	// ReasonHold: all agree, for less than the hold.
	ReasonHold ReasonCode = "Holding"
	// ReasonNoCensus: the pods of the member could not be listed.
	ReasonNoCensus ReasonCode = "CensusNotKnown"
	// ReasonNoRules: the target has no subsets of ours to prove.
	ReasonNoRules ReasonCode = "NoRules"
	// ReasonNoRoutes: the target has no routes of ours to prove.
	ReasonNoRoutes ReasonCode = "NoRoutes"
	// ReasonTooMany: a bound of the prover was passed.
	ReasonTooMany ReasonCode = "TooMany"
)

// Reason is one thing that stands against a proof.
type Reason struct {
	Code ReasonCode
	// Subject is what it is about: an istiod pod, a proxy, a pod; may be empty.
	Subject string
	// Detail is a short text for people. It holds no times.
	Detail string
}
