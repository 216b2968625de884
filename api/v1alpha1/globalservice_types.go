// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GlobalService is one Service that clients in every member reach under one name.
//
// Weir makes one for each Service annotated weir.io/global: "true" and is the only writer: users read it to learn
// where traffic goes, why, and what weir waits for. Its spec is the plan that one controller writes and others
// carry out; its status is what was seen.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gsvc,categories=weir
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Step",type=string,JSONPath=`.status.shift.step`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type GlobalService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the plan in force, written by weir.
	Spec GlobalServiceSpec `json:"spec,omitempty"`
	// status is what weir saw of the plan.
	Status GlobalServiceStatus `json:"status,omitempty"`
}

// GlobalServiceList is a list of GlobalServices.
//
// +kubebuilder:object:root=true
type GlobalServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GlobalService `json:"items"`
}

// GlobalServiceSpec is the plan: the rules and fences that every member shall hold.
type GlobalServiceSpec struct {
	// generation is the number of the plan's rules; each unproven change raises it by one. 0: no rules yet.
	// Route names in the mesh carry it, so that a proof can tell which plan a proxy holds.
	// +kubebuilder:validation:Minimum=0
	Generation int64 `json:"generation,omitempty"`
	// fenceGeneration is raised whenever the fence must be proven anew. 0: never fenced.
	// +kubebuilder:validation:Minimum=0
	FenceGeneration int64 `json:"fenceGeneration,omitempty"`
	// phase says which rules shall stand in the members: None, DestinationRules alone, or Weights too.
	// +kubebuilder:default=None
	Phase RulesPhase `json:"phase,omitempty"`
	// clusters holds the plan for each member that exports the service, sorted by name.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	Clusters []GlobalServiceCluster `json:"clusters,omitempty"`
	// record is what stood when the shift under way began: what an abort goes back to. Empty when nothing moves.
	Record *ShiftRecord `json:"record,omitempty"`
}

// RulesPhase says which of weir's rules shall stand in the members.
//
// +kubebuilder:validation:Enum=None;DestinationRules;Weights
type RulesPhase string

// The phases in the order in which they are entered; they are left in the reverse order.
const (
	RulesNone             RulesPhase = "None"
	RulesDestinationRules RulesPhase = "DestinationRules"
	RulesWeights          RulesPhase = "Weights"
)

// GlobalServiceCluster is the plan for one member.
type GlobalServiceCluster struct {
	// name of the Cluster.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// weight is this member's share of the traffic, in thousandths; the weights of all members sum to 1000.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Weight int32 `json:"weight"`
	// fencedPods is how many of the service's running pods shall carry the fence. 0: none.
	// +kubebuilder:validation:Minimum=0
	FencedPods int32 `json:"fencedPods,omitempty"`
	// newPods says whether pods that are created shall come up fenced.
	// +kubebuilder:default=Open
	NewPods PodAdmission `json:"newPods,omitempty"`
}

// PodAdmission says how pods of a service come up in a member.
//
// +kubebuilder:validation:Enum=Open;Fenced
type PodAdmission string

// Ways in which new pods come up.
const (
	PodsOpen   PodAdmission = "Open"
	PodsFenced PodAdmission = "Fenced"
)

// ShiftRecord is what stood when a shift began. It is written before the first step, so that a restart of weir in
// mid-shift knows the way back.
type ShiftRecord struct {
	// since is when the record was made.
	Since metav1.Time `json:"since,omitempty"`
	// demand is what the traffic needs, in ready replicas.
	// +kubebuilder:validation:Minimum=0
	Demand int32 `json:"demand"`
	// before holds what each member had.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	Before []ClusterBefore `json:"before,omitempty"`
}

// ClusterBefore is what one member had when a shift began.
type ClusterBefore struct {
	// name of the Cluster.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// replicas that were ready.
	Replicas int32 `json:"replicas"`
	// weight it had, in thousandths.
	Weight int32 `json:"weight"`
}

// GoalKind is what a shift is for.
//
// +kubebuilder:validation:Enum=Drain;Undrain;Abort
type GoalKind string

// Goals of a shift.
const (
	GoalDrain   GoalKind = "Drain"
	GoalUndrain GoalKind = "Undrain"
	GoalAbort   GoalKind = "Abort"
)

// GlobalServiceStatus is what weir saw of a GlobalService.
type GlobalServiceStatus struct {
	// observedGeneration is the metadata.generation that this status speaks of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions: Ready, TrafficShifted, Exported.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// hosts under which clients reach the service.
	// +listType=set
	Hosts []string `json:"hosts,omitempty"`
	// ports of the service, as merged over its exports.
	// +listType=map
	// +listMapKey=port
	// +listMapKey=protocol
	Ports []ServicePort `json:"ports,omitempty"`
	// policy in force after defaults.
	Policy *TrafficPolicySpec `json:"policy,omitempty"`
	// clusters says for each member what is wanted, written and proven.
	// +listType=map
	// +listMapKey=name
	Clusters []GlobalServiceClusterStatus `json:"clusters,omitempty"`
	// foreign names who else writes rules for the hosts, as Kind namespace/name in cluster: why. 20 at most. While it is
	// not empty nothing is written.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Foreign []string `json:"foreign,omitempty"`
	// rules is the lease on the subsets: every proxy knows them.
	Rules ProofStatus `json:"rules,omitempty"`
	// weights is the lease on the weights in force.
	Weights ProofStatus `json:"weights,omitempty"`
	// fence is the lease on the fences in force.
	Fence ProofStatus `json:"fence,omitempty"`
	// shift is the step under way and what it waits for.
	Shift ShiftStatus `json:"shift,omitempty"`
	// steps are the last steps taken, oldest first, 32 at most.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Steps []StepRecord `json:"steps,omitempty"`
	// spillHeadroom is how many more replicas' worth of traffic the members could take if the largest one emptied;
	// below zero the reflex would overload them.
	SpillHeadroom *int32 `json:"spillHeadroom,omitempty"`
	// cost of weir's rules to each proxy that imports them.
	Cost *ProxyCost `json:"cost,omitempty"`
}

// ServicePort is a port of a global service.
type ServicePort struct {
	// name of the port; empty when the Service has one unnamed port.
	Name string `json:"name,omitempty"`
	// port number.
	Port int32 `json:"port"`
	// protocol, TCP unless said otherwise.
	// +kubebuilder:default=TCP
	Protocol string `json:"protocol,omitempty"`
	// appProtocol as the Service states it.
	AppProtocol string `json:"appProtocol,omitempty"`
}

// GlobalServiceClusterStatus is one member's line of a GlobalService.
type GlobalServiceClusterStatus struct {
	// name of the Cluster.
	Name string `json:"name"`
	// replicas and ready replicas behind the Service there.
	Replicas int32 `json:"replicas"`
	// ready pods, fenced ones included.
	Ready int32 `json:"ready"`
	// fenced pods that carry the fence.
	Fenced int32 `json:"fenced"`
	// weight in thousandths: wanted by the plan, written to every member, and the interval any proxy may still use.
	Weight WeightStatus `json:"weight"`
	// arrivalsPerSecond at the member's pods, in thousandths; nil when not measured.
	ArrivalsMilliPerSecond *int64 `json:"arrivalsMilliPerSecond,omitempty"`
	// inFlight requests at the member's pods; nil when not measured.
	InFlight *int64 `json:"inFlight,omitempty"`
	// quiet says whether the pods that are to go have stopped receiving requests.
	Quiet QuietState `json:"quiet,omitempty"`
	// sight says whether weir hears the member.
	Sight SightState `json:"sight,omitempty"`
	// workloads behind the Service that weir does not own, as Kind/name.
	// +listType=set
	Workloads []string `json:"workloads,omitempty"`
}

// WeightStatus is one member's weight, in thousandths.
type WeightStatus struct {
	// wanted by the plan.
	Wanted int32 `json:"wanted"`
	// written to the rules of every member; -1 when the members do not agree yet.
	Written int32 `json:"written"`
	// low end of what any proxy may still use.
	ProvenLow int32 `json:"provenLow"`
	// high end of what any proxy may still use.
	ProvenHigh int32 `json:"provenHigh"`
}

// QuietState says how quiet the pods of a member are.
//
// +kubebuilder:validation:Enum=Busy;Once;Quiet;Limit;NotMeasured
type QuietState string

// States of quiet: Busy, one scrape without arrivals, two, waited to the limit, no statistic to read.
const (
	QuietBusy        QuietState = "Busy"
	QuietOnce        QuietState = "Once"
	QuietQuiet       QuietState = "Quiet"
	QuietLimit       QuietState = "Limit"
	QuietNotMeasured QuietState = "NotMeasured"
)

// SightState says whether weir sees a member.
//
// +kubebuilder:validation:Enum=Seen;Blind
type SightState string

// States of sight.
const (
	SightSeen  SightState = "Seen"
	SightBlind SightState = "Blind"
)

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

// ProofStatus is a lease: the evidence that no proxy uses an older plan.
type ProofStatus struct {
	// level reached.
	Level ProofLevel `json:"level,omitempty"`
	// generation that the proof is for.
	Generation int64 `json:"generation,omitempty"`
	// lease is Held, or Lapsed when only a new generation can be proven: an istiod changed or somebody else wrote.
	Lease LeaseState `json:"lease,omitempty"`
	// seenAt is when the evidence was last renewed, by the hub's clock.
	SeenAt *metav1.Time `json:"seenAt,omitempty"`
	// missing names what is not proven yet, 20 at most, each with the reason.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Missing []string `json:"missing,omitempty"`
	// missingCount is the length of the whole list.
	MissingCount int32 `json:"missingCount,omitempty"`
	// unweighted names clients whose routes are not weir's: only the fence moves them. 20 at most.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Unweighted []string `json:"unweighted,omitempty"`
	// istiods that were asked, with the proxies that acknowledged.
	// +listType=atomic
	Istiods []IstiodProof `json:"istiods,omitempty"`
}

// IstiodProof is what one istiod replica's proxies acknowledged.
type IstiodProof struct {
	// name of the replica, as cluster/pod.
	Name string `json:"name"`
	// push is the version that carries the plan.
	Push string `json:"push,omitempty"`
	// proxies that are concerned, 50 at most.
	// +listType=atomic
	Proxies []ProxyProof `json:"proxies,omitempty"`
	// proxyCount is the length of the whole list.
	ProxyCount int32 `json:"proxyCount,omitempty"`
}

// ProxyProof is what one proxy acknowledged.
type ProxyProof struct {
	// name of the proxy, as pod.namespace.
	Name string `json:"name"`
	// acked is the version it acknowledged last.
	Acked string `json:"acked,omitempty"`
}

// ShiftStatus is the step under way.
type ShiftStatus struct {
	// step is the kind of the step under way; empty when nothing moves.
	Step string `json:"step,omitempty"`
	// cluster the step is about.
	Cluster string `json:"cluster,omitempty"`
	// since is when the step began.
	Since *metav1.Time `json:"since,omitempty"`
	// blocked says what the shift waits for, most important first, 20 at most.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Blocked []Blocker `json:"blocked,omitempty"`
}

// Blocker is one thing that a shift waits for.
type Blocker struct {
	// code is one of the closed list in package mesh/shift.
	Code string `json:"code"`
	// cluster it is about.
	Cluster string `json:"cluster,omitempty"`
	// subject names the proxy, istiod replica, rule or person that is waited for.
	Subject string `json:"subject,omitempty"`
	// wakes is the event that lets the shift go on.
	Wakes string `json:"wakes,omitempty"`
	// message says it in a sentence.
	Message string `json:"message,omitempty"`
}

// StepRecord is one step that was taken, with the proofs it rested on.
type StepRecord struct {
	// goal the step served.
	Goal GoalKind `json:"goal"`
	// kind of step.
	Kind string `json:"kind"`
	// cluster it was about.
	Cluster string `json:"cluster,omitempty"`
	// message in a sentence.
	Message string `json:"message,omitempty"`
	// generation of the rules after the step.
	Generation int64 `json:"generation,omitempty"`
	// startedAt is when the step was written.
	StartedAt metav1.MicroTime `json:"startedAt"`
	// weights and fence are the proofs in force when the step was taken.
	Weights *ProofStatus `json:"weights,omitempty"`
	// fence proof in force when the step was taken.
	Fence *ProofStatus `json:"fence,omitempty"`
	// traceID joins the step to its trace.
	TraceID string `json:"traceID,omitempty"`
}

// ProxyCost is what weir's rules add to one proxy.
type ProxyCost struct {
	// envoyClusters added.
	EnvoyClusters int32 `json:"envoyClusters"`
	// endpoints added.
	Endpoints int32 `json:"endpoints"`
	// bytes of memory, estimated from the measured cost of a subset.
	Bytes int64 `json:"bytes"`
}
