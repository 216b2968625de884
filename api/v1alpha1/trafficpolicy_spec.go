// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// TrafficPolicySpec is how a service's traffic is split, and how carefully it is moved.
//
// Everything here is the wish of a user; what this build does not serve is answered by Unserved. Rules across fields
// are refused by the API server with a message that says the way out.
//
// +kubebuilder:validation:XValidation:rule="has(self.weights) == (self.mode == 'Static')",message="weights go with mode Static and only with it: set mode: Static and weights, or remove weights",fieldPath=".weights"
// +kubebuilder:validation:XValidation:rule="has(self.order) == (self.mode == 'ActivePassive')",message="order goes with mode ActivePassive and only with it: set mode: ActivePassive and order, or remove order",fieldPath=".order"
// +kubebuilder:validation:XValidation:rule="has(self.locality) == (self.mode == 'Locality')",message="locality goes with mode Locality and only with it: set mode: Locality and locality, or remove locality",fieldPath=".locality"
// +kubebuilder:validation:XValidation:rule="!has(self.overflow) || self.mode != 'ActivePassive'",message="overflow cannot be combined with mode ActivePassive, where the standby is idle on purpose: remove overflow, or use mode Static or FollowReplicas",fieldPath=".overflow"
// +kubebuilder:validation:XValidation:rule="!has(self.onFailure) || self.onFailure != 'InvertWeights' || self.mode == 'Static'",message="onFailure InvertWeights needs weights to invert: set mode: Static, or onFailure: Spill",fieldPath=".onFailure"
type TrafficPolicySpec struct {
	// mode says what decides the split: FollowReplicas (default) in proportion to the ready replicas of each cluster;
	// Static by the weights given; ActivePassive all to the first cluster of order that can serve; Locality to the
	// nearest.
	// +kubebuilder:default=FollowReplicas
	// +optional
	Mode TrafficMode `json:"mode,omitempty"`
	// weights of the clusters in mode Static, as ratios: 8 and 2 give 80 % and 20 %. A cluster that is not named
	// gets nothing. At least one is above 0.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=1000
	// +kubebuilder:validation:XValidation:rule="self.exists(name, self[name] > 0)",message="all weights are 0, so no cluster would get traffic: give at least one cluster a weight above 0"
	// +optional
	Weights map[string]ClusterWeight `json:"weights,omitempty"`
	// order of the clusters in mode ActivePassive, the preferred one first.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x == y))",message="a cluster stands in order twice: name each cluster once"
	// +optional
	Order []ClusterName `json:"order,omitempty"`
	// locality says what near means in mode Locality.
	// +optional
	Locality *LocalityPolicy `json:"locality,omitempty"`
	// overflow moves a part of one cluster's traffic away while a metric is high there. A pair of clusters stands
	// here once for each metric.
	// +listType=map
	// +listMapKey=from
	// +listMapKey=to
	// +listMapKey=metric
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Overflow []OverflowRule `json:"overflow,omitempty"`
	// onFailure says what happens to the split when a cluster fails: Spill (default), its share goes to the others
	// in proportion; or InvertWeights, with mode Static, the largest weight and the smallest change places.
	// +kubebuilder:default=Spill
	// +optional
	OnFailure FailureAction `json:"onFailure,omitempty"`
	// failback says how traffic returns to a cluster that has come back from a failure: Automatic (default), step by
	// step after a hold; or Manual, when a person says so. It has no bearing on undrain, which is always asked for.
	// +kubebuilder:default=Automatic
	// +optional
	Failback FailbackMode `json:"failback,omitempty"`
	// pace bounds the size of each step of a move. Every step is proven before the next.
	// +kubebuilder:default={}
	// +optional
	Pace ShiftPace `json:"pace,omitzero"`
	// retries that the mesh makes when a request meets a pod or a cluster that has gone.
	// +kubebuilder:default={}
	// +optional
	Retries RetryPolicy `json:"retries,omitzero"`
	// headroom says what to do where a move would leave the other clusters with less capacity than before, or unable
	// to bear the loss of one more: Warn (default), say so and go on; or Require, wait for consent.
	// +kubebuilder:default=Warn
	// +optional
	Headroom HeadroomPolicy `json:"headroom,omitempty"`
	// clients says who calls the service, so that only their proxies carry weir's rules.
	// +optional
	Clients *ClientScope `json:"clients,omitempty"`
	// steering says what moves traffic: Always (default), weights stand in every client's proxy all the time; or
	// OnDemand, no weights at rest, and the fence alone moves traffic.
	// +kubebuilder:default=Always
	// +optional
	Steering SteeringMode `json:"steering,omitempty"`
}

// TrafficMode says what decides the split.
//
// +kubebuilder:validation:Enum=FollowReplicas;Static;ActivePassive;Locality
type TrafficMode string

// What may decide the split.
const (
	ModeFollowReplicas TrafficMode = "FollowReplicas"
	ModeStatic         TrafficMode = "Static"
	ModeActivePassive  TrafficMode = "ActivePassive"
	ModeLocality       TrafficMode = "Locality"
)

// ClusterWeight is one cluster's part of a ratio. 0: no traffic.
//
// +kubebuilder:validation:Minimum=0
// +kubebuilder:validation:Maximum=1000
type ClusterWeight int32

// LocalityPolicy says what near means.
type LocalityPolicy struct {
	// order in which callers look for a cluster, the nearest first. Default: Zone, Region, Any.
	// +listType=atomic
	// +kubebuilder:default={Zone,Region,Any}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x == y))",message="a level stands in order twice: name each of Zone, Region and Any at most once"
	// +kubebuilder:validation:XValidation:rule="!self.exists(x, x == 'Any') || self[size(self) - 1] == 'Any'",message="Any takes every cluster, so nothing can come after it: put Any last"
	// +optional
	Order []LocalityLevel `json:"order,omitempty"`
	// regionOrder names, for callers of one region, the regions that come next. Regions that are not named come last,
	// all alike.
	// +listType=map
	// +listMapKey=from
	// +kubebuilder:validation:MaxItems=100
	// +optional
	RegionOrder []RegionPreference `json:"regionOrder,omitempty"`
}

// LocalityLevel is a distance from the caller.
//
// +kubebuilder:validation:Enum=Zone;Region;Any
type LocalityLevel string

// Distances from the caller.
const (
	LocalityZone   LocalityLevel = "Zone"
	LocalityRegion LocalityLevel = "Region"
	LocalityAny    LocalityLevel = "Any"
)

// RegionPreference names the regions next to one.
//
// +kubebuilder:validation:XValidation:rule="self.to.all(r, r != self.from)",message="a region is always nearest to itself: remove it from to",fieldPath=".to"
type RegionPreference struct {
	// from is the region of the caller.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	From string `json:"from"`
	// to names the regions to try after it, in this order.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +required
	To []string `json:"to"`
}

// OverflowRule moves a part of one cluster's traffic to another while a metric is high.
//
// +kubebuilder:validation:XValidation:rule="self.from != self.to",message="from and to name the same cluster: name another one in to",fieldPath=".to"
// +kubebuilder:validation:XValidation:rule="self.belowPercent < self.abovePercent",message="belowPercent must be lower than abovePercent, or traffic would swing: lower belowPercent or raise abovePercent",fieldPath=".belowPercent"
type OverflowRule struct {
	// from is the cluster to relieve.
	// +required
	From ClusterName `json:"from"`
	// to is the cluster that takes over.
	// +required
	To ClusterName `json:"to"`
	// metric that is watched in from, as a percentage: CPUUtilization (default), used of requested; or the name of
	// another metric.
	// +kubebuilder:default=CPUUtilization
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Metric string `json:"metric,omitempty"`
	// abovePercent is the value over which traffic moves. Default 70.
	// +kubebuilder:default=70
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	AbovePercent int32 `json:"abovePercent,omitempty"`
	// belowPercent is the value under which it comes back. Default 60.
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=999
	// +optional
	BelowPercent *int32 `json:"belowPercent,omitempty"`
	// movePercent is how much of from's traffic moves. Default 30.
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	MovePercent int32 `json:"movePercent,omitempty"`
}

// FailureAction says what happens to the split when a cluster fails.
//
// +kubebuilder:validation:Enum=Spill;InvertWeights
type FailureAction string

// What may happen to the split when a cluster fails.
const (
	FailureSpill         FailureAction = "Spill"
	FailureInvertWeights FailureAction = "InvertWeights"
)

// FailbackMode says how traffic returns after a failure.
//
// +kubebuilder:validation:Enum=Automatic;Manual
type FailbackMode string

// Ways in which traffic returns after a failure.
const (
	FailbackAutomatic FailbackMode = "Automatic"
	FailbackManual    FailbackMode = "Manual"
)

// ShiftPace bounds the size of each step of a move.
type ShiftPace struct {
	// maxStepPercent is how much of the whole traffic one step may move, in percent. Default 50.
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxStepPercent int32 `json:"maxStepPercent,omitempty"`
	// fenceStepPods is how many running pods of a cluster one step may fence or unfence. 0 (default): maxStepPercent
	// of the pods that run there, rounded up.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	FenceStepPods int32 `json:"fenceStepPods,omitempty"`
}

// RetryPolicy says which requests the mesh may send again.
type RetryPolicy struct {
	// mode is Auto (default): GET, HEAD and OPTIONS are sent again whenever they look lost, everything else only when
	// it surely never reached the application; Idempotent: everything is sent again whenever it looks lost, so the
	// application must bear a request that arrives twice; Safe: everything only when it surely never arrived.
	// +kubebuilder:default=Auto
	// +optional
	Mode RetryMode `json:"mode,omitempty"`
}

// RetryMode says which requests the mesh may send again.
//
// +kubebuilder:validation:Enum=Auto;Idempotent;Safe
type RetryMode string

// Which requests the mesh may send again.
const (
	RetryAuto       RetryMode = "Auto"
	RetryIdempotent RetryMode = "Idempotent"
	RetrySafe       RetryMode = "Safe"
)

// HeadroomPolicy says what to do where a move costs headroom.
//
// +kubebuilder:validation:Enum=Warn;Require
type HeadroomPolicy string

// What to do where a move costs headroom.
const (
	HeadroomWarn    HeadroomPolicy = "Warn"
	HeadroomRequire HeadroomPolicy = "Require"
)

// ClientScope says who calls the service.
type ClientScope struct {
	// namespaces whose pods call the service. Only their proxies get weir's rules; the service's own namespace and
	// Istio's system namespace are always included. Empty: every namespace.
	// +listType=set
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`
}

// SteeringMode says what moves traffic.
//
// +kubebuilder:validation:Enum=Always;OnDemand
type SteeringMode string

// What may move traffic.
const (
	SteeringAlways   SteeringMode = "Always"
	SteeringOnDemand SteeringMode = "OnDemand"
)
