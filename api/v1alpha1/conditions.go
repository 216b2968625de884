// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Annotations that users put on a plain Service, in a member.
const (
	// AnnotationGlobal makes a Service global when it is "true".
	AnnotationGlobal = "weir.io/global"
	// AnnotationTrafficPolicy names a TrafficPolicy in the Service's namespace on the hub.
	AnnotationTrafficPolicy = "weir.io/traffic-policy"
	// AnnotationHostname is a fully qualified name in the user's global zone.
	AnnotationHostname = "weir.io/hostname"
	// AnnotationTTL is the time to live of the Service's DNS answers, such as "5s".
	AnnotationTTL = "weir.io/ttl"
	// AnnotationAdopt names a route of the user's own VirtualService that weir may move the weights of.
	AnnotationAdopt = "weir.io/adopt"
)

// AnnotationBinding is NAMESPACE/NAME of the ResourceBinding on the hub that a member's workload belongs to. Weir puts it
// on the workloads that it owns; a workload without it is a user's, whose pods weir never adds to or removes.
const AnnotationBinding = "weir.io/binding"

// AnnotationReleased is, on a GlobalService that no member has any more, when its routes were removed. Weir writes it.
const AnnotationReleased = "weir.io/released-at"

// What kubectl weir unjoin puts on a Cluster before it deletes it. A Cluster without the finalizer is forgotten at once, with
// all that weir put into the member left there.
const (
	// FinalizerUnjoin holds a deleted Cluster until weir has taken away what it put into the member.
	FinalizerUnjoin = "weir.io/unjoin"
	// AnnotationUnjoin says how: UnjoinClean, or UnjoinForce for a member that is gone for good. Else: UnjoinClean.
	AnnotationUnjoin = "weir.io/unjoin"
	// AnnotationRoutesGone is when weir's routes were seen gone from a member that leaves. Weir writes it.
	AnnotationRoutesGone = "weir.io/routes-gone-at"

	UnjoinClean = "Clean"
	UnjoinForce = "Force"
)

// Condition types, in the order in which they are shown.
const (
	ConditionReady          = "Ready"
	ConditionHealthy        = "Healthy"
	ConditionScheduled      = "Scheduled"
	ConditionPropagated     = "Propagated"
	ConditionTrafficShifted = "TrafficShifted"
	ConditionDrained        = "Drained"
	ConditionExported       = "Exported"
	ConditionResolvable     = "Resolvable"
)

// Reasons that more than one kind uses.
const (
	// ReasonNotSupported says that a field or mode is valid but not served by this build; nothing was written.
	ReasonNotSupported = "NotSupported"
	// ReasonNoCredentials says that a Push cluster has no usable credentials Secret.
	ReasonNoCredentials = "NoCredentials"
	// ReasonContactLost goes with status Unknown: the member has not been heard for longer than its limit.
	ReasonContactLost = "ContactLost"
	// ReasonAgentSilent goes with status Unknown: the member's agent has not been heard for longer than its limit, and its
	// API server answers, so the member is not off.
	ReasonAgentSilent = "AgentSilent"
	// ReasonForeignRule says that a rule that weir does not own decides over the host.
	ReasonForeignRule = "ForeignRule"
	// ReasonForeignEdit says that somebody else wrote into one of weir's own rules.
	ReasonForeignEdit = "ForeignEdit"
	// ReasonDeletionHeld goes with status True: the service was deleted by hand, and is kept until no member has it.
	ReasonDeletionHeld = "DeletionHeld"
	// ReasonLookingForRules goes with status Unknown: a service has just become global, and for a moment rules that others
	// wrote before may not be heard of yet.
	ReasonLookingForRules = "LookingForRules"
	// ReasonBadAnnotation says that a weir.io annotation holds a value that weir does not know.
	ReasonBadAnnotation = "BadAnnotation"
	// ReasonInvalidTemplate says that a template is not of the kind that it should be: the message names the field.
	ReasonInvalidTemplate = "InvalidTemplate"
	// ReasonInvalidOverride says that an override cannot be made, or that pinned replicas are more than are wanted.
	ReasonInvalidOverride = "InvalidOverride"
	// ReasonHPA says that a HorizontalPodAutoscaler in the member owns the replicas: weir does not write them, but in a
	// drain, for which it lowers the autoscaler's limits.
	ReasonHPA = "HPA"
	// ReasonConflict says that something of that name is there that weir does not own, or that an older object holds.
	ReasonConflict = "Conflict"
	// ReasonOtherHub says that a member belongs to another hub: nothing is written there.
	ReasonOtherHub = "OtherHub"
	// ReasonNewerLeader says that a newer leader of the hub, or a copy of it, has taken the member since.
	ReasonNewerLeader = "NewerLeader"
	// ReasonEpochNotTaken says that the member cannot be held to the hub's epoch yet: nothing is written there.
	ReasonEpochNotTaken = "EpochNotTaken"
	// ReasonBudgetExceeded says that the rules would cost each proxy more than the budget allows.
	ReasonBudgetExceeded = "BudgetExceeded"
)

// ClusterName is the name of a Cluster object: its identity over the whole federation.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
type ClusterName = string
