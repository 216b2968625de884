// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// ClusterOverride changes what one member gets of a template.
type ClusterOverride struct {
	// clusterName is the member whose copy is changed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	ClusterName string `json:"clusterName"`
	// clusterOverrides are the changes, made in this order.
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +required
	ClusterOverrides []FieldOverride `json:"clusterOverrides"`
}

// FieldOverride sets one field.
type FieldOverride struct {
	// path is a JSON pointer (RFC 6901) into the object, such as /spec/template/spec/containers/0/image. Fields on the
	// way that are missing are made; an element of a list must be there. A field that the kind does not have, in the
	// version of Kubernetes that weir was built with, is answered by Ready=False, reason InvalidOverride.
	// +required
	Path FieldPath `json:"path"`
	// value that stands there, of any JSON type but null.
	// +required
	Value apiextensionsv1.JSON `json:"value"`
}

// FieldPath is a JSON pointer (RFC 6901) to a field that a member's copy may have for itself.
//
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:XValidation:rule="self.matches('^(/([^/~]|~[01])+)+$')",message="path must be a JSON pointer with no empty part, such as /spec/template/spec/containers/0/image; write ~1 for a / and ~0 for a ~ in a name"
// +kubebuilder:validation:XValidation:rule="self.startsWith('/spec/') || self.startsWith('/metadata/labels/') || self.startsWith('/metadata/annotations/')",message="path must point into /spec, /metadata/labels or /metadata/annotations: kind, name and namespace are the same in every member"
type FieldPath string

// ReplicasPath is the path that pins the replicas of one member within the whole.
const ReplicasPath FieldPath = "/spec/replicas"
