// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FederatedService is a Service that weir keeps in members.
//
// Users write its spec. Each member that placement admits holds a Service of the same namespace and name. Annotated
// weir.io/global: "true" in the template, it is one global service, which clients in every member reach under one name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fsvc,categories=weir
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')",message="the name must be one of a Service: at most 63 small letters, digits and -, a letter first; make it anew under such a name"
type FederatedService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the user wants.
	// +required
	Spec FederatedServiceSpec `json:"spec"`
	// status is what came of it.
	// +optional
	Status FederatedServiceStatus `json:"status,omitempty"`
}

// FederatedServiceList is a list of FederatedServices.
//
// +kubebuilder:object:root=true
type FederatedServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FederatedService `json:"items"`
}

// FederatedServiceSpec is what, where, and what is different where.
//
// +kubebuilder:validation:XValidation:rule="!has(self.overrides) || !has(self.placement.clusters) || size(self.placement.clusters) == 0 || self.overrides.all(o, self.placement.clusters.exists(c, c.name == o.clusterName))",message="an override is for a cluster that placement.clusters does not name: add it there, or remove the override",fieldPath=".overrides"
type FederatedServiceSpec struct {
	// template of the Services.
	// +required
	Template ServiceTemplate `json:"template"`
	// placement says which members hold the Service. {}: every member without a taint.
	// +required
	Placement Placement `json:"placement"` //nolint:kubeapilinter // Everywhere is a statement, not what silence means.
	// overrides change what single members get.
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

// FederatedServiceStatus is what came of a FederatedService, over all members.
type FederatedServiceStatus struct {
	// observedGeneration is the metadata.generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready and Propagated (every member holds what it shall). What a member that is not heard would
	// decide is Unknown.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// clusters that hold the Service, or shall, sorted by name.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	Clusters []MemberService `json:"clusters,omitempty"`
}

// MemberService is one member's line of a FederatedService.
type MemberService struct {
	// name of the Cluster.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// copy of the Service in the member.
	MemberCopy `json:",inline"`
}
