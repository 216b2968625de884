// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"time"

	"github.com/weir-io/weir/resview/view"
	"github.com/weir-io/weir/sched"
	"github.com/weir-io/weir/sched/adapter"
)

// Views tells what is known of members' nodes.
type Views interface {
	// Nodes returns the newest view of a member, nil if there is none, and how far it is to be relied on, in percent.
	Nodes(cluster string, now time.Time) (*view.View, int)
}

// shapes keeps what a view was turned into: a member's view stays the same for many passes, and is large.
type shapes map[string]shaped

type shaped struct {
	of  *view.View
	was sched.ClusterView
}

// see adds to a cluster what is known of its nodes.
func (s shapes) see(v *sched.ClusterView, views Views, now time.Time) {
	seen, confidence := views.Nodes(v.Cluster, now)
	if seen == nil {
		delete(s, v.Cluster)
		return
	}
	kept, ok := s[v.Cluster]
	if !ok || kept.of != seen {
		kept = shaped{of: seen}
		adapter.Watch(&kept.was, seen, 0)
		s[v.Cluster] = kept
	}
	v.Seen, v.Version, v.Nodes, v.Confidence = true, kept.was.Version, kept.was.Nodes, int64(confidence)
}
