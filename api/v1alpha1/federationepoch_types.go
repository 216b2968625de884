// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FederationEpoch says, in a member, which hub may write there, and since which of its leaders.
//
// It lives in each member, not on the hub; there is one, named weir, and weir is the only writer. A leader raises the
// epoch above all it finds before it writes anything else; an admission policy in the member compares each write of
// weir's with it and refuses an older one.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=federationepochs,scope=Cluster,shortName=wepoch,categories=weir
// +kubebuilder:printcolumn:name="Hub",type=string,JSONPath=`.spec.hubUID`
// +kubebuilder:printcolumn:name="Epoch",type=integer,JSONPath=`.spec.epoch`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'weir'",message="there is one FederationEpoch in a member: name it weir"
// +kubebuilder:validation:XValidation:rule="self.spec.epoch >= oldSelf.spec.epoch",message="an epoch only grows: a newer leader of the hub has written here; this one must stop writing"
// +kubebuilder:validation:XValidation:rule="self.spec.hubUID == oldSelf.spec.hubUID || self.spec.epoch > oldSelf.spec.epoch",message="another hub has taken this epoch: only a higher one gives the member to a new hub"
type FederationEpoch struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is who may write.
	// +required
	Spec FederationEpochSpec `json:"spec"`
}

// FederationEpochList is a list of FederationEpochs.
//
// +kubebuilder:object:root=true
type FederationEpochList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FederationEpoch `json:"items"`
}

// FederationEpochName is the name of the one FederationEpoch in a member.
const FederationEpochName = "weir"

// Annotations of everything that weir writes in a member, by which an admission policy there tells who wrote it.
const (
	// AnnotationHub is the UID of the hub: see FederationEpochSpec.HubUID.
	AnnotationHub = "weir.io/hub"
	// AnnotationEpoch is the epoch of the leader that wrote it last.
	AnnotationEpoch = "weir.io/epoch"
)

// FederationEpochSpec is who may write.
type FederationEpochSpec struct {
	// hubUID is the UID of the hub's namespace kube-system: the identity of that cluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	HubUID string `json:"hubUID"`
	// epoch of the hub's leader; a writer with a lower one is refused.
	// +kubebuilder:validation:Minimum=1
	// +required
	Epoch int64 `json:"epoch"`
}
