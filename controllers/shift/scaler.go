// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"slices"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/shift"
)

// scalerOf says who else sets the replicas of the workload in a member. One whose limits are being given back sets nothing
// yet: what is planned is what comes.
func scalerOf(gs *v1alpha1.GlobalService, row v1alpha1.MemberReplicas) shift.Scaler {
	a := row.Autoscaler
	switch {
	case a == nil && row.Reason == v1alpha1.ReasonHPA:
		return shift.Operated // as an older hub said it: what may be done to it is not known yet.
	case a == nil:
		return shift.Unscaled
	case a.State == v1alpha1.AutoscalerOperated, a.State == v1alpha1.AutoscalerOwns && row.Applied == 0:
		return shift.Operated // one that may go to none comes back from there by itself
	case lowered(gs, row.Name):
		return shift.Lowered
	case a.State == v1alpha1.AutoscalerOwns:
		return shift.Autoscaled
	}
	return shift.Unscaled
}

// lowered says whether the plan has the limits of an autoscaler lowered in a member.
func lowered(gs *v1alpha1.GlobalService, cluster string) bool {
	return slices.ContainsFunc(gs.Spec.Clusters, func(c v1alpha1.GlobalServiceCluster) bool {
		return c.Name == cluster && c.Autoscaler == v1alpha1.AutoscalerLowered
	})
}

// owner says whether an autoscaler sets the replicas in a member, and not weir.
func owner(gs *v1alpha1.GlobalService, row v1alpha1.MemberReplicas) bool {
	s := scalerOf(gs, row)
	return s == shift.Autoscaled || s == shift.Operated
}

// keeps says whether an autoscaler sets the replicas of a cluster, and not weir.
func keeps(c *shift.Cluster) bool { return c.Scaler == shift.Autoscaled || c.Scaler == shift.Operated }

// leftTo is what a cluster that stays shall come to have, where an autoscaler sets its replicas: what that asks for. While
// another one is drained it has to ask for as many as were decided.
func leftTo(c *shift.Cluster, decided int32, drains bool) int32 {
	if drains {
		return max(decided, c.Applied)
	}
	return c.Applied
}

// scaledDrain says whether a cluster is drained in which an autoscaler set the replicas: what that asked for is what the
// traffic needs, however many were wished for, until none is left.
func scaledDrain(clusters []shift.Cluster) bool {
	return slices.ContainsFunc(clusters, func(c shift.Cluster) bool {
		return c.Goal == shift.Drain && (c.Scaler == shift.Autoscaled || c.Scaler == shift.Lowered && c.Ready > 0)
	})
}
