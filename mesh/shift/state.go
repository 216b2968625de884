// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

// State is everything [Next] may know about one service. The caller gathers it
// anew before every step and keeps nothing between two: a crash costs leases and
// quiet, never an order. Time comes in as facts (a lease is stale, a limit has
// passed), so the same State always gives the same Step and can be replayed
// from a file.
type State struct {
	// Service is what people call it, such as "shop/cart"; it only stands in sentences.
	Service string `json:"service"`
	// Replicas says who owns the number of pods. Plain services keep their pods.
	Replicas Ownership `json:"replicas"`
	// Steering says by what means traffic is moved.
	Steering Steering `json:"steering"`
	// Headroom says whether a drain that loses headroom waits for consent.
	Headroom Headroom `json:"headroom"`
	// Record says whether the start of the move (Cluster.Before) has been written
	// down. It must be Open before any goal but Stay is asked for.
	Record Record `json:"record"`
	// Decision says whether the targets are those of a decision that knows of every goal here.
	// Only a move that goes back to Before can do without.
	Decision Decision `json:"decision,omitzero"`

	// Demand is what the traffic needs, in replicas: those wanted before the move, or in
	// the end where fewer are wanted then; where weir does not own them, the ready replicas
	// of the clusters that stay.
	Demand int32 `json:"demand"`
	// MinReady is how many ready copies a disruption budget wants, over all clusters;
	// 0 is none.
	MinReady int32 `json:"minReady,omitempty"`
	// Limits bound the size of a step.
	Limits Limits `json:"limits"`

	// Rules is the proof that every proxy has the subsets (DestinationRules).
	Rules Proof `json:"rules"`
	// Weights is the lease on the split that was written last.
	Weights Proof `json:"weights"`
	// Fence is the lease on the fence that was written last, in any cluster.
	Fence Proof `json:"fence"`

	// Unweighted names clients whose routes are not ours: only the fence moves them, and
	// every step of it is kept small enough for that. They are said in notes.
	Unweighted []string `json:"unweighted,omitempty"`
	// Foreign names who else writes rules for this host; "" is nobody. A caller that
	// saw a foreign write reports the weights' lease as Lapsed afterwards.
	Foreign string `json:"foreign,omitempty"`

	// Clusters are all clusters that place the service, in any order.
	Clusters []Cluster `json:"clusters"`
}

// Permille is a share of the traffic in thousandths.
type Permille int32

// Whole is all of the traffic.
const Whole Permille = 1000

// Limits bound single steps. The zero value bounds nothing.
type Limits struct {
	// MaxStep is the most weight that one Split moves; 0 is no bound.
	MaxStep Permille `json:"maxStep,omitempty"`
	// FenceStep is the most pods that one Fence adds; 0 is no bound.
	FenceStep int32 `json:"fenceStep,omitempty"`
}

// Place is what a cluster holds of the service at one end of a move.
type Place struct {
	// Replicas is the number of pods. For plain services it is only read in
	// Cluster.Before, as the pods that were ready.
	Replicas int32 `json:"replicas"`
	// Share is the cluster's part of the traffic. Over all clusters it sums to Whole.
	Share Permille `json:"share"`
}

// Cluster is one cluster's part of a State.
type Cluster struct {
	Name string `json:"name"`
	Goal Goal   `json:"goal"`
	// Turn orders goals by when they were asked for; the lowest came first.
	Turn int32 `json:"turn,omitempty"`
	// Accepted is the user's consent to lose headroom by this cluster's goal.
	Accepted bool `json:"accepted,omitempty"`

	// Before is what stood when the move began; Abort goes back to it, unless another
	// cluster has a goal that is not Abort: then Before no longer adds up, and Target is
	// what an aborting cluster goes to as well.
	Before Place `json:"before"`
	// Target is what shall stand in the end. A drained cluster's is zero.
	Target Place `json:"target"`
	// Floor is the number of replicas that something else (an autoscaler's minimum)
	// holds here; weir does not go below it.
	Floor int32 `json:"floor,omitempty"`
	// Hold says who else is at the workload just now.
	Hold Hold `json:"hold,omitzero"`
	// Scaler says who else sets the replicas. Where an autoscaler does, Applied is what that
	// asks for.
	Scaler Scaler `json:"scaler,omitzero"`

	// Applied is the replicas asked of the workload, Ready the pods that serve, Fenced
	// the ready pods that bear the fence (never more than Ready).
	Applied int32 `json:"applied"`
	Ready   int32 `json:"ready"`
	Fenced  int32 `json:"fenced,omitempty"`
	// Entry says whether new pods come up fenced.
	Entry Entry `json:"entry"`
	// Needed names other services behind pods here that cannot do without them yet ([Spares]). While there are any, no
	// pod here is fenced.
	Needed []string `json:"needed,omitempty"`

	// Wrote is the share in the rules as written last (0 while Weights is Unwritten).
	Wrote Permille `json:"wrote"`
	// HeldLo and HeldHi bound the share that any proxy may still use.
	HeldLo Permille `json:"heldLo"`
	HeldHi Permille `json:"heldHi"`

	// DNS says whether answers may still name the cluster.
	DNS DNS `json:"dns"`
	// Quiet says whether requests still arrive at the fenced pods.
	Quiet Quiet `json:"quiet"`
	// InFlight says whether the fenced pods still work on requests.
	InFlight InFlight `json:"inFlight"`
	// Sight says whether anyone can see into the cluster. The counts of a Blind one
	// are old and carry nothing.
	Sight Sight `json:"sight"`
}

// Proof is a lease on one kind of write: while it is fresh, no concerned proxy
// uses anything older than what was written last.
type Proof struct {
	Level Level `json:"level"`
	Lease Lease `json:"lease"`
	// Overdue is true once this write has waited longer than the user allows for its
	// proof. A Waiting proof then counts as Timed, and the step says so.
	Overdue bool `json:"overdue,omitempty"`
	// Missing are the proxies still waited for, as many as the caller cares to name.
	Missing []Laggard `json:"missing,omitempty"`
}

// Laggard is a proxy, or an istiod, that holds a proof up.
type Laggard struct {
	Cluster string `json:"cluster"`
	Name    string `json:"name"`
}
