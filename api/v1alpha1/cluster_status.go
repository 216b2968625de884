// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterStatus is what the hub knows of a member. Whatever the member says of itself is kept when contact is lost;
// the conditions then turn Unknown.
type ClusterStatus struct {
	// observedGeneration is the metadata.generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready (weir can do its work there), Healthy (its agent is heard in time).
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// agent in the member. Unset: it has never been heard.
	// +optional
	Agent *AgentStatus `json:"agent,omitempty"`
	// kubernetesVersion of the member's API server, such as v1.34.1.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// view is the summary of what the hub sees of the member's nodes. Unset: it has seen nothing yet.
	// +optional
	View *ViewSummary `json:"view,omitempty"`
	// findings of the agent's preflight, 50 at most.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +optional
	Findings []ClusterFinding `json:"findings,omitempty"`
	// ingressAddresses are those of the member's ingress gateways: of their Services, as its agent saw them last. What was
	// seen last is kept while none is seen.
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	IngressAddresses []string `json:"ingressAddresses,omitempty"`
	// istio in the member. Unset: none was found.
	// +optional
	Istio *IstioStatus `json:"istio,omitempty"`
	// leaving says how far the member is on its way out, as kubectl weir unjoin asked. Unset: it stays.
	// +optional
	Leaving *LeavingStatus `json:"leaving,omitempty"`
}

// AgentStatus is what the hub knows of a member's agent.
type AgentStatus struct {
	// version of the agent.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Version string `json:"version,omitempty"`
	// connectedAt is when the session in force began, or the last one if none is, by the hub's clock.
	// +optional
	ConnectedAt *metav1.Time `json:"connectedAt,omitempty"`
	// lastBeat is when the agent was heard last, by the hub's clock. It is not written for every beat: while the
	// agent is heard in time it may be a minute old.
	// +optional
	LastBeat *metav1.Time `json:"lastBeat,omitempty"`
}

// ViewSummary is what the hub sees of a member's nodes, summed up.
type ViewSummary struct {
	// version of the view: decisions quote it.
	// +required
	Version int64 `json:"version"`
	// trueAt is when it was true, by the hub's clock. It is not written for every beat: while the agent is heard in
	// time it may be a minute old.
	// +optional
	TrueAt *metav1.Time `json:"trueAt,omitempty"`
	// confidencePercent says how far the scheduler trusts it: it falls with age, and discounts what is free.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	ConfidencePercent int32 `json:"confidencePercent,omitempty"`
	// nodes that take pods.
	// +optional
	Nodes int32 `json:"nodes,omitempty"`
	// allocatable is what pods may use, over all nodes, by resource.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	// allocated is what pods request, over all nodes, by resource.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Allocated corev1.ResourceList `json:"allocated,omitempty"`
	// largestFree is the room that no other node has as much of in everything, most CPU first, 5 at most.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	// +optional
	LargestFree []FreeShape `json:"largestFree,omitempty"`
}

// FreeShape is room that is there in one piece.
type FreeShape struct {
	// nodes that have at least this much free, each of them.
	// +required
	Nodes int32 `json:"nodes"`
	// free on each, by resource; pods and local storage are left out.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Free corev1.ResourceList `json:"free,omitempty"`
}

// IstioStatus is what the agent found of Istio in its member.
type IstioStatus struct {
	// version of istiod, such as 1.31.0.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Version string `json:"version,omitempty"`
	// clusterID that istiod goes by. Where it differs from the one that the spec says, the Cluster is not Ready.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// network of the member's pods. Empty: the default network.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Network string `json:"network,omitempty"`
	// gateways are the east-west gateways by which other networks reach the member, 20 at most. What was told last is kept,
	// so that a hub that starts while the member is off can still write rules for the others.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=20
	// +optional
	Gateways []EastWestGateway `json:"gateways,omitempty"`
	// istiods are the names of istiod's pods, 20 at most.
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	Istiods []string `json:"istiods,omitempty"`
	// connectedProxies is how many proxies are connected to the member's istiods.
	// +optional
	ConnectedProxies int32 `json:"connectedProxies,omitempty"`
	// missingProxies names pods with a sidecar that no istiod knows, as namespace/pod with the reason, 20 at most.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	MissingProxies []string `json:"missingProxies,omitempty"`
	// missingProxyCount is the length of the whole list.
	// +optional
	MissingProxyCount int32 `json:"missingProxyCount,omitempty"`
}

// EastWestGateway is one gateway by which other networks reach a member.
type EastWestGateway struct {
	// name of its pod, as namespace/pod.
	// +kubebuilder:validation:MaxLength=512
	// +required
	Name string `json:"name"`
	// addresses under which other networks reach it, 20 at most. Empty: none is known.
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	Addresses []string `json:"addresses,omitempty"`
}

// ClusterFinding is one thing that the agent found in its member.
type ClusterFinding struct {
	// check that found it.
	// +kubebuilder:validation:MaxLength=63
	// +required
	Check string `json:"check"`
	// severity is Error, which stops weir, Warning, which limits what it can promise, or Info, for the record.
	// +required
	Severity FindingSeverity `json:"severity"`
	// subject it is about.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Subject string `json:"subject,omitempty"`
	// message says what is so.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Message string `json:"message"`
	// remedy says what to do.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Remedy string `json:"remedy,omitempty"`
}

// FindingSeverity says how much a finding matters.
//
// +kubebuilder:validation:Enum=Error;Warning;Info
type FindingSeverity string

// LeavingStatus is how far a member is on its way out.
type LeavingStatus struct {
	// step under way: Held, Traffic, Copies, Routes, Rules, Drains or Done.
	// +required
	Step LeavingStep `json:"step"`
	// waiting says what the step waits for, 20 at most.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	Waiting []string `json:"waiting,omitempty"`
	// left names what weir put into the member and could not take away, 50 at most.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	Left []string `json:"left,omitempty"`
	// leftCount is the length of the whole list.
	// +optional
	LeftCount int32 `json:"leftCount,omitempty"`
	// doneAt is when nothing was left to do. The Cluster goes a moment later.
	// +optional
	DoneAt *metav1.Time `json:"doneAt,omitempty"`
}

// LeavingStep says what is being done to let a member go.
//
// +kubebuilder:validation:Enum=Held;Traffic;Copies;Routes;Rules;Drains;Done
type LeavingStep string

// The steps in their order: replicas stand there still, and nothing is taken away; traffic may still go there; copies of
// federated objects are deleted; the routes are; subsets, exports, Services that stand in and fences are; its ClusterDrain
// goes; and nothing is left to do.
const (
	LeavingHeld    LeavingStep = "Held"
	LeavingTraffic LeavingStep = "Traffic"
	LeavingCopies  LeavingStep = "Copies"
	LeavingRoutes  LeavingStep = "Routes"
	LeavingRules   LeavingStep = "Rules"
	LeavingDrains  LeavingStep = "Drains"
	LeavingDone    LeavingStep = "Done"
)
