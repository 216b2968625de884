// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sched

import (
	"github.com/weir-io/weir/sched/divide"
	"github.com/weir-io/weir/sched/filter"
	"github.com/weir-io/weir/sched/fit"
)

// Unlimited is a Max that never binds.
const Unlimited = divide.Unlimited

// A Request is the wish for one workload.
type Request struct {
	// Workload is its key, unique over the federation, such as Deployment/shop/web.
	Workload string
	// Replicas wanted in all.
	Replicas int64
	// Where it may be.
	Where filter.Wish
	// Pod is what one replica needs of a node; Pods is that in the clusters where it differs.
	Pod  fit.Pod
	Pods map[string]fit.Pod
	// Default are the bounds in every cluster that Bounds does not name.
	Default Bounds
	Bounds  map[string]Bounds
	// Current is where it is now.
	Current map[string]Placement
	// Full are clusters that count as full whatever their views show: the workload's pods found no node there. They keep
	// what runs.
	Full map[string]bool
	// Rebalance moves what stands to where the weights want it. Without it only what has to move does.
	Rebalance bool
}

// Bounds are what is preferred for one cluster: its weight in the division, the least and the most replicas there.
type Bounds struct {
	Weight, Min, Max int64
	// First: its minimum is filled before those of others. A pinned part is.
	First bool
}

// DefaultBounds are those that hold where nobody prefers anything: equal weights, at least one replica, no maximum.
var DefaultBounds = Bounds{Weight: 1, Min: 1, Max: Unlimited}

// Pinned are bounds that leave n replicas, no more and no fewer.
func Pinned(n int64) Bounds { return Bounds{Weight: 1, Min: n, Max: n, First: true} }

// A Placement is what stands in one cluster.
type Placement struct {
	// Replicas decided for it.
	Replicas int64
	// Waiting is how many of them have no node yet, so that the view does not count them.
	Waiting int64
}

// bounds in a cluster.
func (r *Request) bounds(cluster string) Bounds {
	if b, ok := r.Bounds[cluster]; ok {
		return b
	}
	return r.Default
}
