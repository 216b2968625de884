// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sched

import (
	"github.com/weir-io/weir/sched/filter"
	"github.com/weir-io/weir/sched/fit"
	"github.com/weir-io/weir/sched/match"
)

// A ClusterView is what is known of one cluster at one version.
type ClusterView struct {
	// Cluster is its name. Region, Zone, Labels and Taints are those of its registration.
	Cluster, Region, Zone string
	Labels                map[string]string
	Taints                []match.Taint
	Duty                  filter.Duty
	Health                filter.Health
	// Seen: its nodes are known. All below says nothing where it is false.
	Seen bool
	// Version of the view. Announced is the newest that the member itself has spoken of; 0: no newer one.
	Version, Announced int64
	// ExactVersion is the version at which a node, an accelerator or a port changed last. 0: not known, which counts as
	// the Version itself.
	ExactVersion int64
	// Confidence is how much of the room in the view counts, in percent: 100 where it is fresh. 0: it is too old to place
	// by. See package resview/view.
	Confidence int64
	// Serves lists what the API server serves, as group/version or group/version/Kind. Empty: all.
	Serves []string
	// Nodes that pods can be placed on; cordoned ones are not among them.
	Nodes []fit.Node
}

// exactVersion is the version that a decision about exact resources stands on.
func (v *ClusterView) exactVersion() int64 {
	if v.ExactVersion == 0 {
		return v.Version
	}
	return v.ExactVersion
}
