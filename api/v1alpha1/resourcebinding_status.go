// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ResourceBindingStatus is what weir saw of a division, and why it decided so.
type ResourceBindingStatus struct {
	// observedGeneration is the metadata.generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready, Scheduled (every replica has a member), Propagated (every member holds what the plan
	// says), TrafficShifted (the plan has come to the decision).
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// unplaced is how many wanted replicas the decision in force leaves without a member.
	// +optional
	Unplaced int32 `json:"unplaced,omitempty"`
	// clusters says for each member what is wanted, applied and ready.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	Clusters []MemberReplicas `json:"clusters,omitempty"`
	// shift is the step under way and what it waits for. Where the workload has a GlobalService, it is the same shift.
	// +optional
	Shift ShiftStatus `json:"shift,omitzero"`
	// history holds the last decisions, oldest first, 10 at most. The last one is in force.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +optional
	History []DecisionRecord `json:"history,omitempty"`
}

// DecisionRecord is one decision with its reasons.
type DecisionRecord struct {
	// time of the decision, by the hub's clock.
	// +required
	Time metav1.Time `json:"time"`
	// trigger is why it was made.
	// +required
	Trigger DecisionTrigger `json:"trigger"`
	// wishGeneration of the wish that was decided on.
	// +optional
	WishGeneration int64 `json:"wishGeneration,omitempty"`
	// wanted replicas, over all members together.
	// +optional
	Wanted int32 `json:"wanted,omitempty"`
	// unplaced is how many of them fit nowhere.
	// +optional
	Unplaced int32 `json:"unplaced,omitempty"`
	// clusters that got replicas, and the versions of their views; 100 at most, those with the most replicas first.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Clusters []BindingCluster `json:"clusters,omitempty"`
	// clusterCount is the length of the whole list.
	// +optional
	ClusterCount int32 `json:"clusterCount,omitempty"`
	// reasons why clusters got nothing, or less than their share; 50 at most.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +optional
	Reasons []DecisionReason `json:"reasons,omitempty"`
	// reasonCount is the length of the whole list.
	// +optional
	ReasonCount int32 `json:"reasonCount,omitempty"`
}

// DecisionReason says why a cluster got nothing, or less than its share.
type DecisionReason struct {
	// cluster it is about. Empty: all of them.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Cluster string `json:"cluster,omitempty"`
	// code is one of the closed list in package sched.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	Code string `json:"code"`
	// message says it in a sentence, with numbers.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Message string `json:"message,omitempty"`
}

// DecisionTrigger is why a decision was made.
//
// +kubebuilder:validation:Enum=Created;WishChanged;PreferenceChanged;PlacementFailed;Period;CapacityChanged;ClusterJoined;ClusterLeft;ClusterSuspect;ClusterDead;ClusterReturned;Drain;Undrain
type DecisionTrigger string

// Why a decision was made.
const (
	// TriggerCreated: the workload is new.
	TriggerCreated DecisionTrigger = "Created"
	// TriggerWishChanged: the federated object wants something else.
	TriggerWishChanged DecisionTrigger = "WishChanged"
	// TriggerPreferenceChanged: its preference was made, changed or deleted.
	TriggerPreferenceChanged DecisionTrigger = "PreferenceChanged"
	// TriggerPlacementFailed: a member could not hold what was decided, or a view moved before it was committed.
	TriggerPlacementFailed DecisionTrigger = "PlacementFailed"
	// TriggerPeriod: rebalancePeriod has passed.
	TriggerPeriod DecisionTrigger = "Period"
	// TriggerCapacityChanged: a view shows more or less room, or other nodes.
	TriggerCapacityChanged DecisionTrigger = "CapacityChanged"
	// TriggerClusterJoined: a member is new, or was changed so that it may be chosen.
	TriggerClusterJoined DecisionTrigger = "ClusterJoined"
	// TriggerClusterLeft: a member is gone, or was changed so that it may not be chosen.
	TriggerClusterLeft DecisionTrigger = "ClusterLeft"
	// TriggerClusterSuspect: a member is not heard in time.
	TriggerClusterSuspect DecisionTrigger = "ClusterSuspect"
	// TriggerClusterDead: a member is dead.
	TriggerClusterDead DecisionTrigger = "ClusterDead"
	// TriggerClusterReturned: a member is healthy again.
	TriggerClusterReturned DecisionTrigger = "ClusterReturned"
	// TriggerDrain: a ClusterDrain takes a member out.
	TriggerDrain DecisionTrigger = "Drain"
	// TriggerUndrain: a ClusterDrain gives a member back.
	TriggerUndrain DecisionTrigger = "Undrain"
)
