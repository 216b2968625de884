// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/sched"
	"github.com/weir-io/weir/sched/filter"
	reasons "github.com/weir-io/weir/sched/reason"
)

// passing are the reasons that say nothing of a cluster but that it could not be counted on at the time.
var passing = []string{
	string(reasons.NoView), string(reasons.StaleView), string(reasons.OldView), string(reasons.Dead), string(reasons.Partitioned), string(reasons.Suspect),
}

// sound are the clusters that a decision can count on in full.
func sound(views []sched.ClusterView) map[string]bool {
	out := make(map[string]bool, len(views))
	for i := range views {
		v := &views[i]
		out[v.Cluster] = counted(v) && v.Health == filter.Healthy && v.Duty != filter.Drained
	}
	return out
}

// unseen are the clusters that are sound but for their view. That one comes, or is fresh again, is told to nobody, so who waits
// for it looks every few seconds (tryAgain): at most one pass in that time for all workloads together, in which each looks
// through its last split, and nothing is decided or written. For a cluster that is not healthy, or drained, nobody looks: that it
// no longer is so is an event. One of which nothing was ever heard is among these.
func unseen(views []sched.ClusterView) map[string]bool {
	out := map[string]bool{}
	for i := range views {
		if v := &views[i]; v.Health == filter.Healthy && v.Duty != filter.Drained && !counted(v) {
			out[v.Cluster] = true
		}
	}
	return out
}

// counted says whether all room in a view counts.
func counted(v *sched.ClusterView) bool { return v.Seen && v.Confidence >= 100 }

// isSplit says whether what a decision is named after moves what stands to where the weights want it, once: nothing but the
// period would do so again.
func isSplit(t v1alpha1.DecisionTrigger) bool {
	return t == v1alpha1.TriggerUndrain || t == v1alpha1.TriggerPreferenceChanged
}

// lastSplit is where in a history the last split by weights is; -1: there is none. With what was decided since, what stood was
// kept as far as it could be.
func lastSplit(history []v1alpha1.DecisionRecord) int {
	for i, r := range slices.Backward(history) {
		if isSplit(r.Trigger) {
			return i
		}
	}
	return -1
}

// doubted says whether a decision was made while some cluster could not be counted on of which this is so now.
func doubted(r *v1alpha1.DecisionRecord, so func(cluster string) bool) bool {
	return slices.ContainsFunc(r.Reasons, func(x v1alpha1.DecisionReason) bool {
		return slices.Contains(passing, x.Code) && so(x.Cluster)
	})
}

// doubtful says whether a decision is a split that may have to be redressed.
func doubtful(r *v1alpha1.DecisionRecord) bool {
	return isSplit(r.Trigger) && doubted(r, func(string) bool { return true })
}

// redress is the trigger of the last split by weights, where that was made while a cluster could not be counted on which now
// is sound: it has less than its share, or others have more, and nothing else would ever mend it but the period. That is so after
// an undrain that a hub meets which has just begun, and has heard of no member yet. Empty: nothing is owed.
func redress(history []v1alpha1.DecisionRecord, sound map[string]bool) v1alpha1.DecisionTrigger {
	i := lastSplit(history)
	if i < 0 || !doubted(&history[i], func(cluster string) bool { return sound[cluster] }) {
		return ""
	}
	return history[i].Trigger
}
