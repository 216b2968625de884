// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/view"
)

// checkSnapshot looks at the form of one part of a snapshot: names, texts and numbers of things. What the numbers in it
// may be is for package view.
func checkSnapshot(s *pb.ClusterSnapshot) *refusal {
	if s.GetSnapshotVersion() == 0 || s.GetPart() == 0 {
		return invalid("snapshot: version %d, part %d: both begin at 1", s.GetSnapshotVersion(), s.GetPart())
	}
	return firstOf(
		text("cluster_name", s.GetClusterName(), maxName),
		ucount("snapshot_version", s.GetSnapshotVersion(), maxVersion),
		ucount("part", s.GetPart(), view.MaxNodes),
		each("nodes", s.GetNodes(), maxNodesInPart, checkNode),
	)
}

func checkUpdate(u *pb.IncrementalUpdate) *refusal {
	return firstOf(
		text("cluster_id", u.GetClusterId(), maxName),
		ucount("version", u.GetVersion(), maxVersion),
		each("node_deltas", u.GetNodeDeltas(), maxDeltas, checkDelta),
	)
}

func checkDelta(d *pb.NodeDelta) *refusal {
	if why := firstOf(ucount("event_sequence_id", d.GetEventSequenceId(), maxVersion), count("age_ms", d.GetAgeMs(), maxAgeMillis)); why != nil {
		return why
	}
	switch change := d.GetChange().(type) {
	case *pb.NodeDelta_NodeAdded:
		return checkNode(change.NodeAdded)
	case *pb.NodeDelta_NodeUpdated:
		n := change.NodeUpdated
		return checkNode(&pb.NodeResource{
			Name: n.GetName(), Allocatable: n.GetAllocatable().GetAmounts(), Reserved: n.GetReserved().GetAmounts(),
			Labels: n.GetLabels().GetLabels(), Taints: n.GetTaints().GetTaints(), Conditions: n.GetConditions().GetConditions(),
		})
	case *pb.NodeDelta_NodeDeleted:
		return nodeName(change.NodeDeleted.GetName())
	case *pb.NodeDelta_PodAssigned:
		return checkPodChange(change.PodAssigned)
	case *pb.NodeDelta_PodDeleted:
		return checkPodChange(change.PodDeleted)
	default:
		return invalid("event of an unknown kind")
	}
}

func checkPodChange(p *pb.PodChange) *refusal {
	if p.GetUid() == "" {
		return invalid("event of a pod without a UID")
	}
	return firstOf(nodeName(p.GetNode()), text("pod UID", p.GetUid(), maxName), checkAmounts(p.GetRequests()))
}

func checkNode(n *pb.NodeResource) *refusal {
	return firstOf(
		nodeName(n.GetName()),
		checkAmounts(n.GetAllocatable()), checkAmounts(n.GetReserved()), checkAmounts(n.GetAllocated()),
		each("labels", n.GetLabels(), view.MaxLabels, func(l *pb.NodeLabel) *refusal {
			return firstOf(text("label", l.GetKey(), view.MaxName), text("label value", l.GetValue(), view.MaxName))
		}),
		each("taints", n.GetTaints(), view.MaxTaints, func(t *pb.NodeTaint) *refusal {
			return firstOf(text("taint", t.GetKey(), view.MaxName), text("taint value", t.GetValue(), view.MaxName), text("taint effect", t.GetEffect(), view.MaxName))
		}),
		each("conditions", n.GetConditions(), maxConditions, func(c *pb.NodeCondition) *refusal {
			return firstOf(text("condition", c.GetType(), view.MaxName), text("condition status", c.GetStatus(), view.MaxName))
		}),
	)
}

func checkAmounts(list []*pb.Amount) *refusal {
	return each("resources", list, view.MaxAmounts, func(a *pb.Amount) *refusal { return text("resource", a.GetName(), view.MaxName) })
}

func nodeName(name string) *refusal {
	if err := checkName("node", name); err != nil {
		return invalid("%s", err)
	}
	return nil
}
