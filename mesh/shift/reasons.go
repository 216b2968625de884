// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

// Code is the reason of a Blocked.
type Code uint8

// The closed list of Code values.
const (
	// Foreign: someone else writes rules for the host.
	Foreign Code = iota
	// RulesUnproven: proxies still lack the rules.
	RulesUnproven
	// WeightsUnproven: proxies still lack the weights.
	WeightsUnproven
	// FenceUnproven: proxies may still hold fenced pods.
	FenceUnproven
	// ProofStale: a proof is older than ten seconds.
	ProofStale
	// NotReady: replicas asked for are not ready.
	NotReady
	// NoCapacity: ready replicas elsewhere cannot take the traffic.
	NoCapacity
	// LastCluster: no other cluster can serve.
	LastCluster
	// LastCopy: no other ready copy is left.
	LastCopy
	// DisruptionBudget: a disruption budget wants the pods.
	DisruptionBudget
	// HeldByFloor: something else holds the replicas up.
	HeldByFloor
	// HalfLeft: an earlier drain already took its half.
	HalfLeft
	// HeadroomLost: the clusters that stay will bear less than before.
	HeadroomLost
	// Unsteered: a client follows no weights of ours; the fence moves it. Always a note.
	Unsteered
	// CannotSee: nobody can see into the cluster.
	CannotSee
	// StillCached: DNS caches may still name the cluster.
	StillCached
	// NotQuiet: requests still arrive at pods that shall go.
	NotQuiet
	// WorkInFlight: pods that shall go still work.
	WorkInFlight
	// PodsLeaving: pods that were told to go are still there.
	PodsLeaving
	// DecisionAwaited: where replicas shall be was decided before a goal was set or taken back.
	DecisionAwaited
	// RolloutUnderWay: a workload is replacing its pods.
	RolloutUnderWay
	// AutoscalerOwns: an autoscaler sets the replicas, and weir needs another number of them. As a
	// note: it keeps more than were decided, and weir leaves them.
	AutoscalerOwns
	// SharedPods: another service is behind the pods that are to be fenced, and does not spare them yet ([Spares]).
	SharedPods
)

var codeNames = []string{"Foreign", "RulesUnproven", "WeightsUnproven", "FenceUnproven", "ProofStale", "NotReady", "NoCapacity", "LastCluster", "LastCopy", "DisruptionBudget", "HeldByFloor", "HalfLeft", "HeadroomLost", "Unsteered", "CannotSee", "StillCached", "NotQuiet", "WorkInFlight", "PodsLeaving", "DecisionAwaited", "RolloutUnderWay", "AutoscalerOwns", "SharedPods"}

// String returns the name that files and sentences use.
func (c Code) String() string { return nameOf(codeNames, uint8(c)) }

// MarshalText writes the name; an unknown value is an error.
func (c Code) MarshalText() ([]byte, error) { return textOf(codeNames, uint8(c)) }

// UnmarshalText reads a name that MarshalText wrote.
func (c *Code) UnmarshalText(text []byte) error { return parse(codeNames, "Code", text, (*uint8)(c)) }

// Event is what wakes a Blocked: after it a step can be taken, or one reason fewer stands.
type Event uint8

// The closed list of Event values.
const (
	// ProofArrived: a proxy took the write, left, or the limit for it passed.
	ProofArrived Event = iota
	// LeaseRenewed: the prover read the proof again.
	LeaseRenewed
	// ReplicasReady: pods became ready.
	ReplicasReady
	// PodsGone: pods ended.
	PodsGone
	// CacheExpired: DNS caches ran out.
	CacheExpired
	// WentQuiet: nothing arrives any more, or the limit for it passed.
	WentQuiet
	// WorkDone: the work in flight ended, or the limit for it passed.
	WorkDone
	// SightBack: the cluster can be seen again.
	SightBack
	// ForeignGone: the other writer's rules are gone.
	ForeignGone
	// ConsentGiven: the user accepted the loss of headroom.
	ConsentGiven
	// DrainEnded: another drain was undone.
	DrainEnded
	// FloorLowered: the floor was lowered.
	FloorLowered
	// DecisionMade: a new decision knows of every goal.
	DecisionMade
	// RolloutDone: the workload has its new pods, or its old ones again.
	RolloutDone
	// AutoscalerGone: the autoscaler was removed, or is nobody else's any more.
	AutoscalerGone
	// SharerReady: the other service on the same pods can do without them, or is not on them any more.
	SharerReady
	// AutoscalerRaised: the autoscaler asks for more, or was removed.
	AutoscalerRaised
)

var eventNames = []string{"ProofArrived", "LeaseRenewed", "ReplicasReady", "PodsGone", "CacheExpired", "WentQuiet", "WorkDone", "SightBack", "ForeignGone", "ConsentGiven", "DrainEnded", "FloorLowered", "DecisionMade", "RolloutDone", "AutoscalerGone", "SharerReady", "AutoscalerRaised"}

// String returns the name that files and sentences use.
func (e Event) String() string { return nameOf(eventNames, uint8(e)) }

// MarshalText writes the name; an unknown value is an error.
func (e Event) MarshalText() ([]byte, error) { return textOf(eventNames, uint8(e)) }

// UnmarshalText reads a name that MarshalText wrote.
func (e *Event) UnmarshalText(text []byte) error {
	return parse(eventNames, "Event", text, (*uint8)(e))
}
