// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Work is the exact objects that one member shall hold: what weir writes there, and the record of what it wrote.
//
// Weir makes them, in the namespace that MemberNamespace names, and is the only writer. Deleting a Work removes from
// that member all that it placed: a finalizer holds it until that is so.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=wwork,categories=weir
// +kubebuilder:printcolumn:name="Propagated",type=string,JSONPath=`.status.conditions[?(@.type=="Propagated")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Propagated")].reason`
// +kubebuilder:printcolumn:name="Epoch",type=integer,JSONPath=`.spec.epoch`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Work struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the member shall hold.
	// +required
	Spec WorkSpec `json:"spec"`
	// status is what it holds.
	// +optional
	Status WorkStatus `json:"status,omitempty"`
}

// WorkList is a list of Works.
//
// +kubebuilder:object:root=true
type WorkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Work `json:"items"`
}

// WorkSpec is what a member shall hold.
type WorkSpec struct {
	// workload is the objects.
	// +required
	Workload WorkloadManifests `json:"workload"`
	// epoch of the hub that wrote this. Unset: unknown, and nothing is reduced by it.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Epoch *int64 `json:"epoch,omitempty"`
	// baseGeneration is the generation of the ResourceBinding, or of the federated object that has none, that the
	// objects were made from. Unset: unknown.
	// +kubebuilder:validation:Minimum=1
	// +optional
	BaseGeneration *int64 `json:"baseGeneration,omitempty"`
	// notAfter is when this is too old to reduce anything: replicas, or objects. Unset: nothing is reduced by it.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
}

// WorkloadManifests are objects in the order in which they are written.
type WorkloadManifests struct {
	// manifests of the objects, complete but for what an API server fills in.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +required
	Manifests []Manifest `json:"manifests"` //nolint:kubeapilinter // What an object must have, its schema says.
}

// Manifest is one object with apiVersion, kind and metadata.name, kept as it stands.
//
// +kubebuilder:validation:XEmbeddedResource
// +kubebuilder:pruning:PreserveUnknownFields
// +kubebuilder:validation:XValidation:rule="has(self.metadata) && has(self.metadata.name) && size(self.metadata.name) > 0",message="a manifest has no metadata.name: name the object, since weir makes none with generateName"
type Manifest struct {
	runtime.RawExtension `json:",inline"`
}

// WorkStatus is what a member holds of a Work.
type WorkStatus struct {
	// observedGeneration is the metadata.generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Propagated (the member holds every object as it stands here).
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// manifests says for each object what became of it, in the order of the spec.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Manifests []ManifestStatus `json:"manifests,omitempty"`
}

// ManifestStatus is what became of one object.
type ManifestStatus struct {
	// resource is the object.
	// +required
	Resource ResourceReference `json:"resource"`
	// generation of the object in the member after the last write.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// hash of the object as it was written last: one that has the same is not written again.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Hash string `json:"hash,omitempty"`
	// writtenAt is when it was written last, by the hub's clock.
	// +optional
	WrittenAt *metav1.Time `json:"writtenAt,omitempty"`
	// copy in the member.
	MemberCopy `json:",inline"`
}
