// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sched

import "github.com/weir-io/weir/sched/reason"

// A Decision answers a Request.
type Decision struct {
	Workload string
	// Wanted is what was asked for. It is the sum of Unplaced and of the replicas of all targets.
	Wanted int64
	// Targets are the clusters with replicas, by name.
	Targets []Target
	// Unplaced is how many replicas have no place; the reasons say why.
	Unplaced int64
	// Reasons for every cluster that was left out or has less than its share, by cluster; those for the workload as a
	// whole come first.
	Reasons []reason.Reason
	// Views that were counted on, by cluster.
	Views []ViewVersion
}

// A Target is one cluster's part of a decision.
type Target struct {
	Cluster string
	// Replicas in all, how many of them are more than stood there, and how many stood there and waited for a node.
	Replicas, New, Waiting int64
	// View is the version of the view, and ExactVersion that of its exact resources. 0: nothing was known.
	View, ExactVersion int64
}

// A ViewVersion names a view.
type ViewVersion struct {
	Cluster string
	Version int64
}

// Replicas decided for a cluster.
func (d *Decision) Replicas(cluster string) int64 {
	for _, t := range d.Targets {
		if t.Cluster == cluster {
			return t.Replicas
		}
	}
	return 0
}
