// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterDrain takes a member out of service on purpose, and gives it back.
//
// Users write its spec (kubectl weir drain and undrain do). Deleting it gives the cluster back as well: a finalizer
// holds the object until traffic has returned.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=cdrain,categories=weir
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterName`
// +kubebuilder:printcolumn:name="Desired",type=string,JSONPath=`.spec.desired`
// +kubebuilder:printcolumn:name="Drained",type=string,JSONPath=`.status.conditions[?(@.type=="Drained")].status`
// +kubebuilder:printcolumn:name="Safe",type=boolean,JSONPath=`.status.safeToPowerOff`
// +kubebuilder:printcolumn:name="Done",type=string,JSONPath=`.status.progress`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.spec.clusterName == oldSelf.spec.clusterName",message="spec.clusterName is immutable: delete this ClusterDrain (which gives the cluster back) and make another"
type ClusterDrain struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the user wants.
	// +required
	Spec ClusterDrainSpec `json:"spec"`
	// status says how far it is and what it waits for.
	// +optional
	Status ClusterDrainStatus `json:"status,omitempty"`
}

// ClusterDrainList is a list of ClusterDrains.
//
// +kubebuilder:object:root=true
type ClusterDrainList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterDrain `json:"items"`
}

// ClusterDrainSpec says which cluster, which way, and what the user accepts.
type ClusterDrainSpec struct {
	// clusterName is the Cluster to take out. Immutable.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	ClusterName string `json:"clusterName"`
	// desired is OutOfService (default: drain) or InService (undrain; before the drain has finished: abort).
	// +kubebuilder:default=OutOfService
	// +optional
	Desired DesiredService `json:"desired,omitempty"`
	// proxyTimeout is how long to wait for a proxy that does not answer before going on without its proof; the level
	// then shown is Timed. 0 (default): wait for ever.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) <= duration('24h')",message="proxyTimeout must be a duration of at most 24h, such as 2m, or 0s to wait for ever"
	// +optional
	ProxyTimeout *metav1.Duration `json:"proxyTimeout,omitempty"`
	// quietTimeout is how long to wait for fenced pods to fall quiet, and for work in flight, before going on;
	// the step then says quiet: Limit. Default 5m.
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="quietTimeout must be a duration between 1s and 24h, such as 5m"
	// +optional
	QuietTimeout *metav1.Duration `json:"quietTimeout,omitempty"`
	// headroomLoss says what to do where the clusters that stay would have fewer than half of the ready replicas
	// that a service had before the first drain: Wait (default) or Accept.
	// +kubebuilder:default=Wait
	// +optional
	HeadroomLoss HeadroomLossAction `json:"headroomLoss,omitempty"`
	// lastCopy says what to do where this cluster is the last able to serve some service: Refuse the drain whole
	// (default), or Skip those services and drain the others. The last ready copy itself is never taken away.
	// +kubebuilder:default=Refuse
	// +optional
	LastCopy LastCopyAction `json:"lastCopy,omitempty"`
}

// DesiredService says whether a cluster shall serve.
//
// +kubebuilder:validation:Enum=OutOfService;InService
type DesiredService string

// What a ClusterDrain may ask for.
const (
	OutOfService DesiredService = "OutOfService"
	InService    DesiredService = "InService"
)

// HeadroomLossAction says what to do when capacity would become short.
//
// +kubebuilder:validation:Enum=Wait;Accept
type HeadroomLossAction string

// What to do when capacity would become short.
const (
	HeadroomWait   HeadroomLossAction = "Wait"
	HeadroomAccept HeadroomLossAction = "Accept"
)

// LastCopyAction says what to do with services that only the drained cluster serves.
//
// +kubebuilder:validation:Enum=Refuse;Skip
type LastCopyAction string

// What to do with services that only the drained cluster serves.
const (
	LastCopyRefuse LastCopyAction = "Refuse"
	LastCopySkip   LastCopyAction = "Skip"
)

// ClusterDrainStatus is how far a drain is.
type ClusterDrainStatus struct {
	// observedGeneration is the metadata.generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready, TrafficShifted, Drained.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// goal under way: Drain, Undrain or Abort.
	// +optional
	Goal GoalKind `json:"goal,omitempty"`
	// progress as done/total services, such as "3/5".
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Progress string `json:"progress,omitempty"`
	// services that the drain moves, each with its step and what it waits for.
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=5000
	// +optional
	Services []DrainedService `json:"services,omitempty"`
	// unmeshedCallers are callers that no rule of the mesh reaches and that still arrive, 20 at most: by name where
	// telemetry names them, else one line with their number.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	UnmeshedCallers []string `json:"unmeshedCallers,omitempty"`
	// unownedWorkloads are workloads behind drained services that weir does not own, as namespace/Kind/name: they
	// run on, fenced. They do not make it unsafe.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=640
	// +optional
	UnownedWorkloads []string `json:"unownedWorkloads,omitempty"`
	// safeToPowerOff is true when the cluster may be switched off without losing a request.
	// +optional
	SafeToPowerOff *bool `json:"safeToPowerOff,omitempty"`
	// startedAt is when the first service began to move.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// finishedAt is when the goal was reached.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// traceID of the trace that holds every step of this drain.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	TraceID string `json:"traceID,omitempty"`
}

// DrainedService is one service's line of a drain.
type DrainedService struct {
	// namespace of the GlobalService.
	// +kubebuilder:validation:MaxLength=63
	// +required
	Namespace string `json:"namespace"`
	// name of the GlobalService.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// step under way, or Done, or Skipped.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Step string `json:"step,omitempty"`
	// blocked says what it waits for, 5 at most.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	// +optional
	Blocked []Blocker `json:"blocked,omitempty"`
	// headroom says HeadroomLost, with numbers, where the clusters that stay can bear less than before. The drain waits for
	// consent only where blocked says so too.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Headroom string `json:"headroom,omitempty"`
	// quiet of the drained pods.
	// +optional
	Quiet QuietState `json:"quiet,omitempty"`
}
