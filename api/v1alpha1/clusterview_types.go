// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterView is what the scheduler sees of one member, written into a file for weir simulate.
//
// No API server has this kind and AddToScheme leaves it out: in a running hub, views come from agents. metadata.name is
// the name of the Cluster that it is the view of; nothing else of metadata counts.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
type ClusterView struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is seen.
	// +required
	Spec ClusterViewSpec `json:"spec"` //nolint:kubeapilinter // A view says so where nothing is seen: spec: {}.
}

// ClusterViewKind is the kind of a ClusterView in a file.
const ClusterViewKind = "ClusterView"

// ClusterViewSpec is what is seen of a member.
type ClusterViewSpec struct {
	// version of the view, which a decision quotes.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Version int64 `json:"version,omitempty"`
	// health of the member: Healthy (default), Suspect, Dead or Partitioned.
	// +kubebuilder:default=Healthy
	// +optional
	Health ClusterHealth `json:"health,omitempty"`
	// ageSeconds is how long ago the view was true. 0 (default): now.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	AgeSeconds int64 `json:"ageSeconds,omitempty"`
	// servedAPIs are what the member's API server serves, each as group/version or group/version/Kind, such as
	// apps/v1 or apps/v1/Deployment; v1 or v1/Service for the core group. Empty: all.
	// +listType=set
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^([a-z0-9][-a-z0-9.]*/)?v[0-9]+((alpha|beta)[0-9]+)?(/[A-Z][A-Za-z0-9]*)?$`
	// +optional
	ServedAPIs []string `json:"servedAPIs,omitempty"`
	// nodes of the member, alike ones together. Empty: it has none, and nothing fits.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=10000
	// +optional
	Nodes []ViewNode `json:"nodes,omitempty"`
}

// ViewNode is one node, or a number of nodes that are alike.
type ViewNode struct {
	// name of the node, or of the kind of nodes.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// count of nodes. Default 1. 0: none.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	// +optional
	Count *int32 `json:"count,omitempty"`
	// labels of each.
	// +kubebuilder:validation:MaxProperties=256
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// taints of each.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Taints []ClusterTaint `json:"taints,omitempty"`
	// allocatable is what pods may use of each, by resource. A resource that is not named is not there, but for pods:
	// without it any number of pods may run.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	// allocated is what pods request of each now. It may be more than is allocatable; nothing is free then.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Allocated corev1.ResourceList `json:"allocated,omitempty"`
}

// ClusterHealth says whether a member is alive, as far as weir knows.
//
// +kubebuilder:validation:Enum=Healthy;Suspect;Dead;Partitioned
type ClusterHealth string

// Whether a member is alive: heard in time, not heard in time, not reachable at all for long, or silent while its
// traffic succeeds.
const (
	HealthHealthy     ClusterHealth = "Healthy"
	HealthSuspect     ClusterHealth = "Suspect"
	HealthDead        ClusterHealth = "Dead"
	HealthPartitioned ClusterHealth = "Partitioned"
)
