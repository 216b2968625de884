// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ProofStatus is a lease: the evidence that no proxy uses an older plan.
type ProofStatus struct {
	// level reached.
	// +optional
	Level ProofLevel `json:"level,omitempty"`
	// generation that the proof is for.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// seenAt is when the evidence was last renewed, by the hub's clock.
	// +optional
	SeenAt *metav1.Time `json:"seenAt,omitempty"`
	// missing names what is not proven yet, 20 at most, each with the reason.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	Missing []string `json:"missing,omitempty"`
	// missingCount is the length of the whole list.
	// +optional
	MissingCount int32 `json:"missingCount,omitempty"`
	// unweighted names clients whose routes are not weir's: only the fence moves them. 20 at most.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	Unweighted []string `json:"unweighted,omitempty"`
	// lease is Held, or Lapsed when only a new generation can be proven: an istiod changed or somebody else wrote.
	// +optional
	Lease LeaseState `json:"lease,omitempty"`
	// istiods that were asked, with the proxies that acknowledged: 64 at most, 16 in the record of a step.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Istiods []IstiodProof `json:"istiods,omitempty"`
}

// ProofLevel says how a statement about proxies is known.
//
// +kubebuilder:validation:Enum=None;Timed;Proven
type ProofLevel string

// Levels of proof, from nothing to every proxy asked.
const (
	ProofNone   ProofLevel = "None"
	ProofTimed  ProofLevel = "Timed"
	ProofProven ProofLevel = "Proven"
)

// LeaseState says whether a proof can be renewed by reading again.
//
// +kubebuilder:validation:Enum=Held;Lapsed
type LeaseState string

// States of a lease.
const (
	LeaseHeld   LeaseState = "Held"
	LeaseLapsed LeaseState = "Lapsed"
)

// IstiodProof is what one istiod replica's proxies acknowledged.
type IstiodProof struct {
	// name of the replica, as cluster/pod.
	// +kubebuilder:validation:MaxLength=512
	// +required
	Name string `json:"name"`
	// push is the version that carries the plan.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Push string `json:"push,omitempty"`
	// proxies that are concerned: 50 at most, 5 in the record of a step.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +optional
	Proxies []ProxyProof `json:"proxies,omitempty"`
	// proxyCount is the length of the whole list.
	// +optional
	ProxyCount int32 `json:"proxyCount,omitempty"`
}

// ProxyProof is what one proxy acknowledged.
type ProxyProof struct {
	// name of the proxy, as pod.namespace.
	// +kubebuilder:validation:MaxLength=512
	// +required
	Name string `json:"name"`
	// acked is the version it acknowledged last.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Acked string `json:"acked,omitempty"`
}

// StepRecord is one step that was taken, with the proofs it rested on.
type StepRecord struct {
	// goal the step served; empty for a step at rest, such as the first rules of a service.
	// +optional
	Goal GoalKind `json:"goal,omitempty"`
	// kind of step.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Kind string `json:"kind"`
	// cluster it was about.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Cluster string `json:"cluster,omitempty"`
	// message in a sentence.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// generation of the rules after the step.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// fenceGeneration of the fence after the step.
	// +optional
	FenceGeneration int64 `json:"fenceGeneration,omitempty"`
	// startedAt is when the step was written.
	// +required
	StartedAt metav1.MicroTime `json:"startedAt"`
	// replicas that the workload in the cluster shall have after the step; unset where the step does not change them.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// quiet says how it was known that nothing arrives at the pods that the step takes away: Quiet is measured, Limit is
	// that the limit for it had passed. Empty where the step takes none away.
	// +optional
	Quiet QuietState `json:"quiet,omitempty"`
	// weights is the proof of the weights in force when the step was taken.
	// +optional
	Weights *ProofStatus `json:"weights,omitempty"`
	// fence is the proof of the fence in force when the step was taken.
	// +optional
	Fence *ProofStatus `json:"fence,omitempty"`
	// traceID joins the step to its trace.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	TraceID string `json:"traceID,omitempty"`
}
