// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Bounds of the lists that weir writes into status. A writer cuts its lists to these and says how long they were; the
// API server refuses what is longer. They keep the largest status well under the 1.5 MiB that etcd takes.
const (
	// MaxBlocked is how many blockers, and how many notices, a GlobalService names.
	MaxBlocked = 20
	// MaxDrainBlocked is how many blockers a ClusterDrain names for each service.
	MaxDrainBlocked = 5
	// MaxDrainedServices is how many services a ClusterDrain lists.
	MaxDrainedServices = 5000
	// MaxMissing is how many missing proofs, and how many unweighted clients, a proof names.
	MaxMissing = 20
	// MaxSharedWith is how many other services on the same pods a GlobalService names for each member.
	MaxSharedWith = 100
	// MaxForeign is how many foreign rules a GlobalService names.
	MaxForeign = 20
	// MaxIstiods is how many istiod replicas a proof in force names.
	MaxIstiods = 64
	// MaxProxies is how many proxies a proof in force names for each istiod replica.
	MaxProxies = 50
	// MaxSteps is how many steps a GlobalService remembers.
	MaxSteps = 32
	// MaxNamedSteps is how many of them, the newest, name the istiods and proxies of their proofs: those of one drain. A status
	// is written whole each time, and the names are nine tenths of a step.
	MaxNamedSteps = 8
	// MaxRecordedIstiods is how many istiod replicas the proof of a remembered step names.
	MaxRecordedIstiods = 16
	// MaxRecordedProxies is how many proxies the proof of a remembered step names for each istiod replica.
	MaxRecordedProxies = 5
	// MaxUnmeshedCallers is how many unmeshed callers a ClusterDrain names.
	MaxUnmeshedCallers = 20
	// MaxUnownedWorkloads is how many workloads that weir does not own a ClusterDrain names.
	MaxUnownedWorkloads = 100
	// MaxFreeShapes is how many free shapes the summary of a view names.
	MaxFreeShapes = 5
	// MaxDecisions is how many decisions a ResourceBinding remembers.
	MaxDecisions = 10
	// MaxDecisionClusters is how many clusters a remembered decision names.
	MaxDecisionClusters = 100
	// MaxDecisionReasons is how many reasons a remembered decision names.
	MaxDecisionReasons = 50
	// MaxReasonMessage is the length of the longest sentence in a reason of a decision, in characters.
	MaxReasonMessage = 512
	// MaxLeavingWaits is how many things a member that leaves waits for by name, and MaxLeft how many that it keeps it names.
	MaxLeavingWaits = 20
	MaxLeft         = 50
	// MaxMessage is the length of the longest sentence in a status, in characters.
	MaxMessage = 1024
)
