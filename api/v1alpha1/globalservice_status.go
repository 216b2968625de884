// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GlobalServiceStatus is what weir saw of a GlobalService.
type GlobalServiceStatus struct {
	// observedGeneration is the metadata.generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready, TrafficShifted, Exported, Resolvable.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// hosts under which clients reach the service.
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	Hosts []string `json:"hosts,omitempty"`
	// nameWishes are what annotations weir.io/hostname and weir.io/ttl ask for, as members said last.
	// +optional
	NameWishes *NameWishes `json:"nameWishes,omitempty"`
	// names is what DNS answers for the service. Unset: the hub serves no zone.
	// +optional
	Names *NamesStatus `json:"names,omitempty"`
	// ports of the service, as merged over its exports.
	// +listType=map
	// +listMapKey=port
	// +listMapKey=protocol
	// +kubebuilder:validation:MaxItems=256
	// +optional
	Ports []ServicePort `json:"ports,omitempty"`
	// policy in force after defaults.
	// +optional
	Policy *TrafficPolicySpec `json:"policy,omitempty"`
	// clusters says for each member what is wanted, written and proven.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	Clusters []GlobalServiceClusterStatus `json:"clusters,omitempty"`
	// foreign names who else writes rules for the hosts, as cluster: rule, and why. 20 at most, one of each cluster first. While it is
	// not empty nothing is written.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	Foreign []string `json:"foreign,omitempty"`
	// rules is the lease on the subsets: every proxy knows them.
	// +optional
	Rules ProofStatus `json:"rules,omitempty"`
	// weights is the lease on the weights in force.
	// +optional
	Weights ProofStatus `json:"weights,omitempty"`
	// fence is the lease on the fences in force.
	// +optional
	Fence ProofStatus `json:"fence,omitempty"`
	// shift is the step under way and what it waits for.
	// +optional
	Shift ShiftStatus `json:"shift,omitempty"`
	// steps are the last steps taken, oldest first, 32 at most. The newest 8 name the istiods and proxies of their proofs.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Steps []StepRecord `json:"steps,omitempty"`
	// spillHeadroom is how many more replicas' worth of traffic the members could take if the largest one emptied;
	// below zero the reflex would overload them.
	// +optional
	SpillHeadroom *int32 `json:"spillHeadroom,omitempty"`
	// cost of weir's rules to each proxy that imports them.
	// +optional
	Cost *ProxyCost `json:"cost,omitempty"`
}

// ServicePort is a port of a global service.
type ServicePort struct {
	// name of the port; empty when the Service has one unnamed port.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Name string `json:"name,omitempty"`
	// port number.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +required
	Port int32 `json:"port"`
	// protocol of the port: TCP (default), UDP or SCTP.
	// +kubebuilder:default=TCP
	// +kubebuilder:validation:MaxLength=16
	// +optional
	Protocol string `json:"protocol,omitempty"`
	// appProtocol as the Service states it.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	AppProtocol string `json:"appProtocol,omitempty"`
}

// GlobalServiceClusterStatus is one member's line of a GlobalService.
type GlobalServiceClusterStatus struct {
	// name of the Cluster.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// replicas behind the Service there, ready or not.
	// +required
	Replicas int32 `json:"replicas"`
	// ready pods, fenced ones included.
	// +required
	Ready int32 `json:"ready"`
	// fenced is how many pods carry the fence.
	// +required
	Fenced int32 `json:"fenced"`
	// refencedAt is when ready pods were last seen without the fence that the plan wants on them; it goes when the fence
	// was proven since. As long as it is set, no end of a drain that is older than it counts.
	// +optional
	RefencedAt *metav1.Time `json:"refencedAt,omitempty"`
	// weight in thousandths: wanted by the plan, written to every member, and the interval any proxy may still use.
	// +required
	Weight WeightStatus `json:"weight"`
	// arrivalsMilliPerSecond at the member's pods, in thousandths of a request a second; unset when not measured.
	// +optional
	ArrivalsMilliPerSecond *int64 `json:"arrivalsMilliPerSecond,omitempty"`
	// inFlight requests at the member's pods; unset when not measured.
	// +optional
	InFlight *int64 `json:"inFlight,omitempty"`
	// quiet says whether the pods that are to go have stopped receiving requests.
	// +optional
	Quiet QuietState `json:"quiet,omitempty"`
	// sight says whether weir hears the member.
	// +optional
	Sight SightState `json:"sight,omitempty"`
	// binding is the ResourceBinding of the federated workload behind the Service there, as NAMESPACE/NAME. Empty: none is.
	// +kubebuilder:validation:MaxLength=317
	// +optional
	Binding string `json:"binding,omitempty"`
	// workloads behind the Service that are not of that binding, as Kind/name: their pods are not weir's to change.
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=320
	// +optional
	Workloads []string `json:"workloads,omitempty"`
	// sharedWith names the other global services of the namespace that are behind pods of this one there. The fence is on
	// the pod, so they leave a member together. 100 at most; while there are as many, nothing is fenced.
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	SharedWith []string `json:"sharedWith,omitempty"`
	// budgets are the PodDisruptionBudgets there that select pods of the Service. Their pods are counted over all members.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Budgets []DisruptionBudget `json:"budgets,omitempty"`
}

// DisruptionBudget is what one PodDisruptionBudget asks for.
type DisruptionBudget struct {
	// name of the PodDisruptionBudget.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// minAvailable is how many pods must be ready. Unset: maxUnavailable says it.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// maxUnavailable is how many of the pods that are wanted may be away. Unset: minAvailable says it.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
	// unit of the number: Pods, or Percent of the pods that are wanted.
	// +required
	Unit BudgetUnit `json:"unit"`
	// otherPods are those that it selects there besides the Service's.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	OtherPods int32 `json:"otherPods,omitempty"`
	// otherReady are those of them that are ready.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	OtherReady int32 `json:"otherReady,omitempty"`
}

// BudgetUnit is what the number of a budget counts.
//
// +kubebuilder:validation:Enum=Pods;Percent
type BudgetUnit string

// Units of a budget.
const (
	BudgetPods    BudgetUnit = "Pods"
	BudgetPercent BudgetUnit = "Percent"
)

// WeightStatus is one member's weight, in thousandths.
type WeightStatus struct {
	// wanted by the plan.
	// +required
	Wanted int32 `json:"wanted"`
	// written to the rules of every member; -1 when the members do not agree yet.
	// +required
	Written int32 `json:"written"`
	// provenLow is the low end of what any proxy may still use.
	// +required
	ProvenLow int32 `json:"provenLow"`
	// provenHigh is the high end of what any proxy may still use.
	// +required
	ProvenHigh int32 `json:"provenHigh"`
}

// QuietState says how quiet the pods of a member are.
//
// +kubebuilder:validation:Enum=Busy;Once;Quiet;Limit;NotMeasured
type QuietState string

// States of quiet: requests arrive, one scrape without arrivals, two, waited to the limit, no statistic to read. Pods that other
// networks call stay at Once until they have idled for six seconds, while others of their cluster serve.
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

// ShiftStatus is the step under way.
type ShiftStatus struct {
	// step is the kind of the step under way; empty when nothing moves.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Step string `json:"step,omitempty"`
	// cluster the step is about.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Cluster string `json:"cluster,omitempty"`
	// since is when the step began.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// blocked says what the shift waits for, most important first, 20 at most.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +optional
	Blocked []Blocker `json:"blocked,omitempty"`
	// notices say what is worth knowing of the shift and holds nothing up, 20 at most.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +optional
	Notices []Notice `json:"notices,omitempty"`
}

// Notice is one thing that is worth knowing of a shift. Nothing waits for it.
type Notice struct {
	// code is one of the closed list in package mesh/shift.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Code string `json:"code"`
	// cluster it is about.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Cluster string `json:"cluster,omitempty"`
	// subject names the client or the other cluster that it is about.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Subject string `json:"subject,omitempty"`
	// message says it in a sentence.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// Blocker is one thing that a shift waits for.
type Blocker struct {
	// code is one of the closed list in package mesh/shift.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Code string `json:"code"`
	// cluster it is about.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Cluster string `json:"cluster,omitempty"`
	// subject names the proxy, istiod replica, rule or person that is waited for.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Subject string `json:"subject,omitempty"`
	// wakes is the event that lets the shift go on.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Wakes string `json:"wakes,omitempty"`
	// message says it in a sentence.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// ProxyCost is what weir's rules add to one proxy.
type ProxyCost struct {
	// envoyClusters added.
	// +required
	EnvoyClusters int32 `json:"envoyClusters"`
	// endpoints added.
	// +required
	Endpoints int32 `json:"endpoints"`
	// bytes of memory, estimated from the measured cost of a subset.
	// +required
	Bytes int64 `json:"bytes"`
}
