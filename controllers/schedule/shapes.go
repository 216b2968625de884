// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"time"

	"github.com/weir-io/weir/resview/stream"
	"github.com/weir-io/weir/resview/view"
	"github.com/weir-io/weir/sched"
	"github.com/weir-io/weir/sched/adapter"
)

// Views tells what is known of members' nodes.
type Views interface {
	// View returns what is known of one, and false when it is not admitted. *stream.Server is the one that the hub has.
	View(cluster string) (stream.MemberView, bool)
}

// shapes keeps what a view was turned into: a member's view stays the same for many passes, and is large.
type shapes map[string]shaped

type shaped struct {
	of  *view.View
	was sched.ClusterView
}

// see adds to a cluster what is known of its nodes, and of what its API server serves.
func (s shapes) see(v *sched.ClusterView, views Views, now time.Time) {
	known, admitted := views.View(v.Cluster)
	v.Serves = known.Serves
	seen := known.View
	if !admitted || seen == nil {
		delete(s, v.Cluster)
		return
	}
	kept, ok := s[v.Cluster]
	if !ok || kept.of != seen {
		kept = shaped{of: seen}
		adapter.Watch(&kept.was, seen, 0)
		s[v.Cluster] = kept
	}
	v.Seen, v.Version, v.Nodes, v.Confidence = true, kept.was.Version, kept.was.Nodes, int64(known.Confidence(now))
}
