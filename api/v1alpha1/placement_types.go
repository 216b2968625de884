// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Placement says which members may hold an object. Every part that is set must be met; an empty placement admits every
// Cluster. Taints are met besides: a Cluster with a taint that is not tolerated is left out.
type Placement struct {
	// clusters names the members that may hold it. Empty: every member, as far as clusterAffinity admits it.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	Clusters []PlacementCluster `json:"clusters,omitempty"`
	// clusterAffinity admits members by label, region and zone. Unset: every member.
	// +optional
	ClusterAffinity *ClusterAffinity `json:"clusterAffinity,omitempty"`
	// clusterTolerations are the taints of Clusters that it tolerates.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +optional
	ClusterTolerations []ClusterToleration `json:"clusterTolerations,omitempty"` //nolint:kubeapilinter // As in a pod; a rule asks for the key or for Exists.
}

// PlacementCluster names a member.
type PlacementCluster struct {
	// name of the Cluster. A name that no Cluster has is no error: the member may join later.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}

// ClusterAffinity admits members by what their Clusters say. Both parts must be met.
type ClusterAffinity struct {
	// labelSelector over the labels of Clusters. Unset or empty: every Cluster.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// fieldSelector over the region and zone of Clusters. Unset: every Cluster.
	// +optional
	FieldSelector *ClusterFieldSelector `json:"fieldSelector,omitempty"`
}

// ClusterFieldSelector admits members by fields of their Clusters. Every expression must hold.
type ClusterFieldSelector struct {
	// matchExpressions that must all hold.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +required
	MatchExpressions []ClusterFieldExpression `json:"matchExpressions"`
}

// ClusterFieldExpression compares one field of a Cluster with a list of values.
type ClusterFieldExpression struct {
	// key is the field: region or zone.
	// +required
	Key ClusterField `json:"key"`
	// operator is In, the field has one of the values; or NotIn, it has none of them. An empty field has none.
	// +required
	Operator FieldOperator `json:"operator"`
	// values to compare with.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +required
	Values []string `json:"values"`
}

// ClusterField is a field of a Cluster that affinity may look at.
//
// +kubebuilder:validation:Enum=region;zone
type ClusterField string

// Fields of a Cluster that affinity may look at.
const (
	FieldRegion ClusterField = "region"
	FieldZone   ClusterField = "zone"
)

// FieldOperator compares a field with a list of values.
//
// +kubebuilder:validation:Enum=In;NotIn
type FieldOperator string

// Ways to compare a field with a list of values.
const (
	FieldIn    FieldOperator = "In"
	FieldNotIn FieldOperator = "NotIn"
)

// ClusterToleration lets work go to members whose taint it matches, as a pod's toleration does with nodes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.operator) || self.operator != 'Exists' || !has(self.value) || size(self.value) == 0",message="operator Exists matches every value: remove value, or set operator: Equal",fieldPath=".value"
// +kubebuilder:validation:XValidation:rule="has(self.key) || has(self.operator) && self.operator == 'Exists'",message="a toleration without key matches every taint only with operator: Exists: name the key, or set operator: Exists",fieldPath=".key"
type ClusterToleration struct {
	// key of the taint. Unset, with operator Exists: every taint.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +optional
	Key string `json:"key,omitempty"`
	// operator is Equal (default), the value must be the taint's; or Exists, any value is.
	// +kubebuilder:default=Equal
	// +optional
	Operator TolerationOperator `json:"operator,omitempty"`
	// value of the taint, with operator Equal.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Value string `json:"value,omitempty"`
	// effect that is tolerated: NoSchedule, PreferNoSchedule or NoExecute. Unset: each of them.
	// +optional
	Effect TaintEffect `json:"effect,omitempty"`
}

// TolerationOperator compares the value of a taint.
//
// +kubebuilder:validation:Enum=Equal;Exists
type TolerationOperator string

// Ways to compare the value of a taint.
const (
	TolerationEqual  TolerationOperator = "Equal"
	TolerationExists TolerationOperator = "Exists"
)
