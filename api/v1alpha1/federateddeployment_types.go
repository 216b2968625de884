// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FederatedDeployment is a Deployment whose replicas weir divides over members.
//
// Users write its spec. Each member that gets replicas holds a Deployment of the same namespace and name; how many is
// decided in the ResourceBinding deployment-NAME beside it, which a ReplicaSchedulingPreference may steer, and changed
// in an order that never leaves a request without a pod.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.template.spec.replicas,statuspath=.status.replicas
// +kubebuilder:resource:shortName=fdep,categories=weir
// +kubebuilder:printcolumn:name="Wanted",type=integer,JSONPath=`.spec.template.spec.replicas`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Unplaced",type=integer,JSONPath=`.status.unplaced`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="the name must be at most 63 small letters, digits and -, since it becomes a label of the pods: make it anew under a shorter or plainer name"
type FederatedDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the user wants.
	// +required
	Spec FederatedDeploymentSpec `json:"spec"`
	// status is what came of it.
	// +optional
	Status FederatedDeploymentStatus `json:"status,omitempty"`
}

// FederatedDeploymentList is a list of FederatedDeployments.
//
// +kubebuilder:object:root=true
type FederatedDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FederatedDeployment `json:"items"`
}

// FederatedDeploymentSpec is what, where, and what is different where.
//
// +kubebuilder:validation:XValidation:rule="!has(self.overrides) || !has(self.placement.clusters) || size(self.placement.clusters) == 0 || self.overrides.all(o, self.placement.clusters.exists(c, c.name == o.clusterName))",message="an override is for a cluster that placement.clusters does not name: add it there, or remove the override",fieldPath=".overrides"
// +kubebuilder:validation:XValidation:rule="!has(self.retainedFields) || !('/spec/replicas' in self.retainedFields)",message="replicas cannot be retained, since weir divides them: set them in the template, or pin a cluster's by an override",fieldPath=".retainedFields"
type FederatedDeploymentSpec struct {
	// template of the Deployments.
	// +required
	Template DeploymentTemplate `json:"template"`
	// placement says which members may hold replicas. {}: every member without a taint.
	// +required
	Placement Placement `json:"placement"` //nolint:kubeapilinter // Everywhere is a statement, not what silence means.
	// overrides change what single members get. An override of /spec/replicas pins the member's part within the
	// whole; pins above the whole are answered by Ready=False, reason InvalidOverride.
	// +listType=map
	// +listMapKey=clusterName
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Overrides []ClusterOverride `json:"overrides,omitempty"`
	// retainedFields stay in each member as they stand there, once the object exists: somebody in the member owns
	// them. Everywhere else the template wins over edits in members.
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +optional
	RetainedFields []FieldPath `json:"retainedFields,omitempty"`
}

// FederatedDeploymentStatus is what came of a FederatedDeployment, over all members.
type FederatedDeploymentStatus struct {
	// observedGeneration is the metadata.generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready (what was wanted runs), Scheduled (every replica has a member), Propagated (every member
	// holds what it shall). What a member that is not heard would decide is Unknown.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// replicas that the members' workloads ask for.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// readyReplicas over all members.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// availableReplicas over all members.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`
	// updatedReplicas over all members.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`
	// unplaced is how many replicas fit nowhere; the ResourceBinding says why.
	// +optional
	Unplaced int32 `json:"unplaced,omitempty"`
	// clusters that hold replicas, or shall, sorted by name.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	Clusters []MemberReplicas `json:"clusters,omitempty"`
}
