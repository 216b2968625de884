// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GlobalService is one Service that clients in every member reach under one name.
//
// Weir makes one for each Service annotated weir.io/global: "true" and is the only writer: users read it to learn
// where traffic goes, why, and what weir waits for. Its spec is the plan that one controller writes and others
// carry out; its status is what was seen.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gsvc,categories=weir
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Step",type=string,JSONPath=`.status.shift.step`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type GlobalService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the plan in force, written by weir.
	// +optional
	Spec GlobalServiceSpec `json:"spec,omitempty"`
	// status is what weir saw of the plan.
	// +optional
	Status GlobalServiceStatus `json:"status,omitempty"`
}

// GlobalServiceList is a list of GlobalServices.
//
// +kubebuilder:object:root=true
type GlobalServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GlobalService `json:"items"`
}

// GlobalServiceSpec is the plan: the rules and fences that every member shall hold.
//
// +kubebuilder:validation:XValidation:rule="self.phase != 'Weights' || (has(self.clusters) && self.clusters.map(c, c.weight).sum() == 1000)",message="the weights of all clusters must sum to 1000 in phase Weights: weir writes this object, so undo the edit",fieldPath=".clusters"
type GlobalServiceSpec struct {
	// generation is the number of the plan's rules; each unproven change raises it by one. 0: no rules yet.
	// Route names in the mesh carry it, so that a proof can tell which plan a proxy holds.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// fenceGeneration is raised whenever the fence must be proven anew. 0: never fenced.
	// +kubebuilder:validation:Minimum=0
	// +optional
	FenceGeneration int64 `json:"fenceGeneration,omitempty"`
	// phase says which rules shall stand in the members: None, DestinationRules alone, or Weights too.
	// +kubebuilder:default=None
	// +optional
	Phase RulesPhase `json:"phase,omitempty"` //nolint:kubeapilinter // It says which rules shall stand, not how far an object is.
	// clusters holds the plan for each member that exports the service, sorted by name.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	Clusters []GlobalServiceCluster `json:"clusters,omitempty"`
	// record is what stood when the shift under way began: what an abort goes back to. Empty when nothing moves.
	// +optional
	Record *ShiftRecord `json:"record,omitempty"`
}

// RulesPhase says which of weir's rules shall stand in the members.
//
// +kubebuilder:validation:Enum=None;DestinationRules;Weights
type RulesPhase string

// The phases in the order in which they are entered; they are left in the reverse order.
const (
	RulesNone             RulesPhase = "None"
	RulesDestinationRules RulesPhase = "DestinationRules"
	RulesWeights          RulesPhase = "Weights"
)

// GlobalServiceCluster is the plan for one member.
type GlobalServiceCluster struct {
	// name of the Cluster.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// weight is this member's share of the traffic, in thousandths; the weights of all members sum to 1000.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +required
	Weight int32 `json:"weight"`
	// fencedPods is how many of the service's running pods shall carry the fence. 0: none.
	// +kubebuilder:validation:Minimum=0
	// +optional
	FencedPods int32 `json:"fencedPods,omitempty"`
	// fence says how fencedPods is meant: Exact, or Keep once the workload was told to have fewer replicas and the fenced
	// pods go: those that carry the fence keep it, and no other pod gets it in their place.
	// +kubebuilder:default=Exact
	// +optional
	Fence FenceRule `json:"fence,omitempty"`
	// newPods says whether pods that are created shall come up fenced.
	// +kubebuilder:default=Open
	// +optional
	NewPods PodAdmission `json:"newPods,omitempty"`
	// replicas is how many replicas the federated workload behind the service shall have there now. It follows the
	// decision of its ResourceBinding in steps: up before traffic comes, down after it has gone. Unset: the pods are not
	// of a workload that weir owns.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// autoscaler says what becomes of the limits of an autoscaler that stands on the workload there: Kept, or Lowered to
	// replicas once a drain takes them. With Kept it gets its own limits back.
	// +kubebuilder:default=Kept
	// +optional
	Autoscaler AutoscalerLimits `json:"autoscaler,omitempty"`
	// dns says whether DNS answers may name the member: Named, or Withdrawn once a shift has taken it out of them.
	// +kubebuilder:default=Named
	// +optional
	DNS DNSPresence `json:"dns,omitempty"`
}

// AutoscalerLimits says what becomes of the limits of an autoscaler.
//
// +kubebuilder:validation:Enum=Kept;Lowered
type AutoscalerLimits string

// They are the autoscaler's own, or lowered for a drain.
const (
	AutoscalerKept    AutoscalerLimits = "Kept"
	AutoscalerLowered AutoscalerLimits = "Lowered"
)

// FenceRule says how a number of fenced pods is meant.
//
// +kubebuilder:validation:Enum=Exact;Keep
type FenceRule string

// The number is kept by fencing more pods or fewer; or it is what stood, and only falls.
const (
	FenceExact FenceRule = "Exact"
	FenceKeep  FenceRule = "Keep"
)

// PodAdmission says how pods of a service come up in a member.
//
// +kubebuilder:validation:Enum=Open;Fenced
type PodAdmission string

// Ways in which new pods come up.
const (
	PodsOpen   PodAdmission = "Open"
	PodsFenced PodAdmission = "Fenced"
)

// ShiftRecord is what stood when a shift began. It is written before the first step, so that a restart of weir in
// mid-shift knows the way back.
type ShiftRecord struct {
	// since is when the record was made.
	// +optional
	Since metav1.Time `json:"since,omitzero"`
	// demand is what the traffic needs, in ready replicas.
	// +kubebuilder:validation:Minimum=0
	// +required
	Demand int32 `json:"demand"`
	// before holds what each member had.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	Before []ClusterBefore `json:"before,omitempty"`
}

// ClusterBefore is what one member had when a shift began.
type ClusterBefore struct {
	// name of the Cluster.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// replicas that were asked of the workload; of one that weir does not own, those that were ready.
	// +kubebuilder:validation:Minimum=0
	// +required
	Replicas int32 `json:"replicas"`
	// weight it had, in thousandths.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +required
	Weight int32 `json:"weight"`
}

// GoalKind is what a shift is for.
//
// +kubebuilder:validation:Enum=Drain;Undrain;Abort;Move
type GoalKind string

// Goals of a shift.
const (
	GoalDrain   GoalKind = "Drain"
	GoalUndrain GoalKind = "Undrain"
	GoalAbort   GoalKind = "Abort"
	// GoalMove is any other change of a division: scale, preference, capacity, rebalance.
	GoalMove GoalKind = "Move"
)
