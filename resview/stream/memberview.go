// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"time"

	"github.com/weir-io/weir/resview/view"
)

// MemberView is what the hub knows of one member's nodes at one moment, and of what runs them. It never changes once it can be seen.
type MemberView struct {
	// Cluster is the member's name, from its certificate.
	Cluster string
	// View of the nodes. Nil: none was received in the life of this hub.
	View *view.View
	// ReceivedAt is when the newest message that is in View was received, by the hub's clock. Zero: none was.
	ReceivedAt time.Time
	// ConfirmedAt is when the agent last said that View is how things are: by that message, or by a beat since that named
	// its version while the member's own API server answered. Age counts from here. Zero: never.
	ConfirmedAt time.Time
	// InStep says that a session is open and no event is known to be missing. While it is false View is what the agent
	// said last.
	InStep bool
	// Missing says for a person why View is not in step. Empty: it is.
	Missing string
	// Serves are the kinds that the member's API server serves, each as GROUP/VERSION/KIND, or VERSION/KIND of the core
	// group, sorted. Members that serve the same share one list, which must not be changed. None: not known.
	Serves []string
	// Fresh is how old a view may be before it is relied on less: as long as three beats take.
	Fresh time.Duration
}

// Age returns how old the view is at now, by the hub's clock from receipt. Zero for a member without a view.
func (m MemberView) Age(now time.Time) time.Duration {
	if m.ConfirmedAt.IsZero() {
		return 0
	}
	return max(0, now.Sub(m.ConfirmedAt))
}

// Confidence returns in percent how far the view is to be relied on at now, by its age alone (see view.Confidence). 0
// without a view.
func (m MemberView) Confidence(now time.Time) int {
	if m.View == nil {
		return 0
	}
	return view.Confidence(m.Age(now), m.Fresh)
}

// View returns what is known of a member's nodes, and false when the member is not admitted. It takes no lock that a
// session holds.
func (s *Server) View(cluster string) (MemberView, bool) {
	m := s.member(cluster)
	if m == nil {
		return MemberView{}, false
	}
	out := *m.nodes.current.Load()
	if served := m.current.Load().served; served != nil {
		out.Serves = served.apis
	}
	return out, true
}

// Views returns one MemberView for each admitted member, sorted by name.
func (s *Server) Views() []MemberView {
	snapshots := s.Snapshots()
	out := make([]MemberView, 0, len(snapshots))
	for _, snapshot := range snapshots {
		if v, known := s.View(snapshot.Cluster); known {
			out = append(out, v)
		}
	}
	return out
}

// SubscribeViews returns a Subscription to the changes of views, and of whether they are in step, from now on. The holder
// must Close it. A beat that only confirms a view is no change.
func (s *Server) SubscribeViews() *Subscription { return s.viewSubscribers.subscribe() }
