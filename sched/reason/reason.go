// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package reason

// A Code names a reason. It is part of the output of weir simulate and of a binding's history.
type Code string

// Why a cluster is out of the question: what it has of the workload goes elsewhere.
const (
	NotSelected Code = "NotSelected" // the placement does not mean it
	Drained     Code = "Drained"     // it is being taken out of service
	LeftOut     Code = "LeftOut"     // a what-if question leaves it out
	Evicted     Code = "Evicted"     // it has a NoExecute taint that is not tolerated
)

// Why a cluster gets nothing new, and keeps what it has.
const (
	NoCluster   Code = "NoCluster"   // nothing is registered under this name, or no cluster is registered at all
	NoView      Code = "NoView"      // nothing is known of its nodes
	StaleView   Code = "StaleView"   // what is known of its nodes is too old
	Dead        Code = "Dead"        // its API server does not answer
	Partitioned Code = "Partitioned" // it is silent while its traffic succeeds
	Tainted     Code = "Tainted"     // it has a NoSchedule taint that is not tolerated
	NotServed   Code = "NotServed"   // its API server does not serve the kind
)

// Why a cluster gets less than it would.
const (
	NoMatchingNode  Code = "NoMatchingNode"  // no node that the pods may be on
	NoRoom          Code = "NoRoom"          // too little is free in all
	NoFittingShape  Code = "NoFittingShape"  // enough is free in all, and on no node at once
	PlacementFailed Code = "PlacementFailed" // its view shows room, and pods of the workload found no node there
	AtMaximum       Code = "AtMaximum"       // it has as many as the preference lets it, or its override pins it to
	NoWeight        Code = "NoWeight"        // its weight is 0
	NoShare         Code = "NoShare"         // there are too few replicas for its weight
	BelowMinimum    Code = "BelowMinimum"    // it has fewer than the preference asks for
	Suspect         Code = "Suspect"         // its beats are late: it keeps its share, and new replicas count half there
	SoftTaint       Code = "SoftTaint"       // it has a PreferNoSchedule taint: new replicas count half there
	OldView         Code = "OldView"         // what is known of its nodes is not fresh: only a part of the room counts
)

// A Reason says why of one cluster. An empty Cluster stands for the workload as a whole.
type Reason struct {
	Cluster string
	Code    Code
	Message string
}
