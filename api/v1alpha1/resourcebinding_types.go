// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResourceBinding is one workload's division over members: the wish, the decision, and what stands now.
//
// Weir makes one for each federated workload and is the only writer: users read it to learn why a replica is where it
// is. Its spec has three parts, each written by one controller: the wish (everything up to nodeRequirements), the
// decision (clusters), and the plan (plan), which follows the decision step by step.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rb,categories=weir
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.resource.kind`
// +kubebuilder:printcolumn:name="Resource",type=string,JSONPath=`.spec.resource.name`
// +kubebuilder:printcolumn:name="Wanted",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Unplaced",type=integer,JSONPath=`.status.unplaced`
// +kubebuilder:printcolumn:name="Scheduled",type=string,JSONPath=`.status.conditions[?(@.type=="Scheduled")].status`
// +kubebuilder:printcolumn:name="Step",type=string,JSONPath=`.status.shift.step`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ResourceBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is wish, decision and plan, written by weir.
	// +required
	Spec ResourceBindingSpec `json:"spec"`
	// status is what weir saw of them, and why it decided so.
	// +optional
	Status ResourceBindingStatus `json:"status,omitempty"`
}

// ResourceBindingList is a list of ResourceBindings.
//
// +kubebuilder:object:root=true
type ResourceBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ResourceBinding `json:"items"`
}

// ResourceBindingSpec is wish, decision and plan.
//
// +kubebuilder:validation:XValidation:rule="self.resource == oldSelf.resource",message="spec.resource is immutable: weir writes this object, so undo the edit, or delete it and weir makes it anew",fieldPath=".resource"
type ResourceBindingSpec struct {
	// resource that members hold: of FederatedDeployment shop/web the Deployment shop/web. The federated object itself
	// is the owner of this binding. Immutable.
	// +required
	Resource ResourceReference `json:"resource,omitzero"`
	// wishGeneration is the metadata.generation of the federated object that the wish was read from.
	// +kubebuilder:validation:Minimum=0
	// +optional
	WishGeneration int64 `json:"wishGeneration,omitempty"`
	// replicas wanted, over all members together.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// resourceNeed is what one replica requests of its node, by resource: its containers, and what else counts.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	ResourceNeed corev1.ResourceList `json:"resourceNeed,omitempty"`
	// placement of the wish.
	// +optional
	Placement Placement `json:"placement,omitzero"`
	// preference in force, with its defaults. Unset: none names the workload, and the defaults hold.
	// +optional
	Preference *ReplicaPreference `json:"preference,omitempty"`
	// pins are the parts of single members that overrides of /spec/replicas fix, within the whole.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Pins []ClusterReplicas `json:"pins,omitempty"`
	// nodeRequirements are what else a replica asks of its node.
	// +optional
	NodeRequirements *NodeRequirements `json:"nodeRequirements,omitempty"`
	// clusters is the decision: how many replicas each member shall come to hold, and the version of the view that
	// this rests on. It is the target; what stands on the way there is the plan.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	Clusters []BindingCluster `json:"clusters,omitempty"`
	// plan is how many replicas each member shall hold now. It follows the decision in steps, up before down, and is
	// what is written to the members. A member with replicas stands here until they are gone.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	Plan []ClusterReplicas `json:"plan,omitempty"`
	// lowered names the members in which an autoscaler of the workload has its limits lowered to the plan, because a
	// drain takes the replicas there. One that is named no more gets its own limits back.
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	Lowered []string `json:"lowered,omitempty"`
}

// ResourceReference names an object by kind and name.
type ResourceReference struct {
	// apiVersion of the object, such as apps/v1.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +required
	APIVersion string `json:"apiVersion"`
	// kind of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Kind string `json:"kind"`
	// namespace of the object. Empty: it has none.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}

// ClusterReplicas is a number of replicas in one member.
type ClusterReplicas struct {
	// name of the Cluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// replicas there.
	// +kubebuilder:validation:Minimum=0
	// +required
	Replicas int32 `json:"replicas"`
}

// BindingCluster is one member's part of a decision.
type BindingCluster struct {
	// name of the Cluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// replicas decided for it.
	// +kubebuilder:validation:Minimum=0
	// +required
	Replicas int32 `json:"replicas"`
	// viewVersion is the version of the member's view that the decision used. 0: none was needed.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ViewVersion int64 `json:"viewVersion,omitempty"`
}

// NodeRequirements are what a replica asks of its node besides resources, as its pod template says.
type NodeRequirements struct {
	// nodeSelector is the labels that the node must have.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// nodeAffinity is the required part of the pod's affinity to nodes.
	// +optional
	NodeAffinity *corev1.NodeSelector `json:"nodeAffinity,omitempty"`
	// tolerations of the pod, against taints of nodes.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}
