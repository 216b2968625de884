// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MemberCopy is what weir knows of one member's copy of an object.
type MemberCopy struct {
	// sync says whether the member holds what it shall.
	// +optional
	Sync SyncState `json:"sync,omitempty"`
	// reason of the state in one word, where it is not Synced.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Reason string `json:"reason,omitempty"`
	// message says it in a sentence, with the way out.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// sight says whether weir sees into the member. Blind: everything else here is what was seen last.
	// +optional
	Sight SightState `json:"sight,omitempty"`
	// seenAt is when the member's copy was read last, by the hub's clock. It is not written for every read: while the
	// member is seen it may be a minute old.
	// +optional
	SeenAt *metav1.Time `json:"seenAt,omitempty"`
}

// SyncState says whether a member holds what it shall.
//
// +kubebuilder:validation:Enum=Pending;Synced;Failed;Conflict;Removing
type SyncState string

// Whether a member holds what it shall: not written yet, as wanted, the write failed, an object of that name is there
// that weir does not own, or it is being taken away.
const (
	SyncPending  SyncState = "Pending"
	SyncSynced   SyncState = "Synced"
	SyncFailed   SyncState = "Failed"
	SyncConflict SyncState = "Conflict"
	SyncRemoving SyncState = "Removing"
)

// MemberReplicas is one member's line of a workload.
type MemberReplicas struct {
	// name of the Cluster.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// wanted is the member's part of the division.
	// +required
	Wanted int32 `json:"wanted"`
	// applied is what the member's workload asks for: spec.replicas, as it was read there.
	// +required
	Applied int32 `json:"applied"`
	// ready pods.
	// +required
	Ready int32 `json:"ready"`
	// available pods: ready for as long as the workload's minReadySeconds says.
	// +required
	Available int32 `json:"available"`
	// updated pods: of the newest template.
	// +required
	Updated int32 `json:"updated"`
	// pending pods have no node yet: the member has no room for them, or has not placed them so far.
	// +optional
	Pending int32 `json:"pending,omitempty"`
	// rollout says whether the member's workload has carried out its newest template.
	// +optional
	Rollout RolloutState `json:"rollout,omitempty"`
	// autoscaler that stands on the workload in the member.
	// +optional
	Autoscaler *MemberAutoscaler `json:"autoscaler,omitempty"`
	// copy of the workload in the member.
	MemberCopy `json:",inline"`
}

// MemberAutoscaler is a HorizontalPodAutoscaler that stands on a workload in a member.
type MemberAutoscaler struct {
	// name of the HorizontalPodAutoscaler, or of what keeps its limits, such as ScaledObject web.
	// +kubebuilder:validation:MaxLength=300
	// +required
	Name string `json:"name"`
	// state says what it does with the replicas: it Owns them; it is Off, since none are asked for; weir has its limits
	// Lowered; or somebody else keeps its limits, and it is Operated.
	// +required
	State AutoscalerState `json:"state"`
}

// Sets says whether it sets the replicas, and not weir; none (nil) does not.
func (a *MemberAutoscaler) Sets() bool {
	return a != nil && (a.State == AutoscalerOwns || a.State == AutoscalerOperated)
}

// AutoscalerState says what an autoscaler does with the replicas of a workload.
//
// +kubebuilder:validation:Enum=Owns;"Off";Lowered;Operated
type AutoscalerState string

// What an autoscaler does: it sets the replicas; nothing, where none are asked for; what limits that weir has lowered let
// it; or what somebody else's limits let it, who would undo what weir does to them.
const (
	AutoscalerOwns     AutoscalerState = "Owns"
	AutoscalerOff      AutoscalerState = "Off"
	AutoscalerHeld     AutoscalerState = "Lowered"
	AutoscalerOperated AutoscalerState = "Operated"
)

// RolloutState says whether a member's workload has carried out its newest template.
//
// +kubebuilder:validation:Enum=Complete;Progressing;Stuck
type RolloutState string

// How far a member's workload is: done, on the way, or past its own deadline.
const (
	RolloutComplete    RolloutState = "Complete"
	RolloutProgressing RolloutState = "Progressing"
	RolloutStuck       RolloutState = "Stuck"
)
