// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
)

const (
	// patience is how long pods may be without a node although the view shows room for them: longer than a member's own
	// scheduler takes, and than a node that its autoscaler adds.
	patience = 2 * time.Minute
	// avoidance is how long a member then counts as full for that workload. What keeps its pods from a node (a volume, a
	// quota, a rule about other pods) is in no view, so only another attempt tells whether it is gone.
	avoidance = 15 * time.Minute
)

// waits is what is remembered of one workload's pods without a node, by member. It is lost with the hub: then the wait
// begins anew, and a member that was full is tried again when there is a reason to give it more.
type waits struct {
	since map[string]time.Time // when pods were first seen to wait, without a break
	until map[string]time.Time // how long a member counts as full
}

// look notes which pods wait now, and says whether a member has come to count as full by it. Of a member that is not heard
// nothing is known.
func (w *waits) look(rows []v1alpha1.MemberReplicas, now time.Time) bool {
	since, found := map[string]time.Time{}, false
	for i := range rows {
		row := &rows[i]
		if row.Sight == v1alpha1.SightBlind || row.Pending == 0 || row.Reason == v1alpha1.ReasonHPA {
			continue
		}
		first, ok := w.since[row.Name]
		if !ok {
			first = now
		}
		since[row.Name] = first
		if now.Sub(first) < patience || w.full(row.Name, now) {
			continue
		}
		if w.until == nil {
			w.until = map[string]time.Time{}
		}
		w.until[row.Name], found = now.Add(avoidance), true
	}
	w.since = since
	for name := range w.until {
		if !w.full(name, now) {
			delete(w.until, name)
		}
	}
	return found
}

func (w *waits) full(cluster string, now time.Time) bool { return w.until[cluster].After(now) }

// watch looks at the pods of every workload that was decided on before, and notes in its request which members are full
// for it.
func (r *Reconciler) watch(in *input) {
	for _, e := range in.entries {
		m := r.known[e.key()]
		if m == nil {
			continue
		}
		e.failed = m.waits.look(e.binding.Status.Clusters, in.now)
		for name := range m.waits.until {
			if e.request.Full == nil {
				e.request.Full = map[string]bool{}
			}
			e.request.Full[name] = true
		}
	}
}
