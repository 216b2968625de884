// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/sched"
	"github.com/weir-io/weir/sched/adapter"
	reasons "github.com/weir-io/weir/sched/reason"
)

// sameDivision says whether two decisions give the same replicas to the same clusters, whatever the views they rest on.
func sameDivision(a, b []v1alpha1.BindingCluster) bool {
	return slices.EqualFunc(a, b, func(x, y v1alpha1.BindingCluster) bool { return x.Name == y.Name && x.Replicas == y.Replicas })
}

// recordOf is a decision as a binding remembers it, cut to what it holds.
func recordOf(a *answer, now time.Time) v1alpha1.DecisionRecord {
	d := &a.decision
	clusters := largest(adapter.Decided(d))
	out := v1alpha1.DecisionRecord{
		Time: hub.Time(now), Trigger: a.why.trigger, WishGeneration: a.entry.binding.Spec.WishGeneration,
		Wanted: int32(d.Wanted), Unplaced: int32(d.Unplaced), //nolint:gosec // both at most what a binding can want.
		ClusterCount: int32(len(clusters)), ReasonCount: int32(len(d.Reasons)), //nolint:gosec // as many as there are clusters.
		Clusters: clusters[:min(len(clusters), v1alpha1.MaxDecisionClusters)],
	}
	for _, r := range kept(d.Reasons) {
		out.Reasons = append(out.Reasons, v1alpha1.DecisionReason{
			Cluster: r.Cluster, Code: string(r.Code), Message: hub.Clip(r.Message, v1alpha1.MaxReasonMessage),
		})
	}
	return out
}

// kept are the reasons that a record has room for, in their order: those that are looked for later before those that only
// people read.
func kept(all []reasons.Reason) []reasons.Reason {
	room := v1alpha1.MaxDecisionReasons
	if len(all) <= room {
		return all
	}
	ranked := make([]int, len(all))
	for i := range all {
		ranked[i] = i
	}
	slices.SortStableFunc(ranked, func(a, b int) int { return cmp.Compare(rankOf(all[a].Code), rankOf(all[b].Code)) })
	ranked = ranked[:room]
	slices.Sort(ranked)
	out := make([]reasons.Reason, 0, room)
	for _, i := range ranked {
		out = append(out, all[i])
	}
	return out
}

// rankOf is the rank of a reason in a record that has no room for all: by Drained a later decision, and a shift, tell what a
// decision knew; by passing ones a later decision finds what it has to redress; a name that nobody registered is told first.
func rankOf(code reasons.Code) int {
	switch {
	case code == reasons.Drained:
		return 0
	case slices.Contains(passing, string(code)):
		return 1
	case code == reasons.NoCluster:
		return 2
	}
	return 3
}

// largest are the clusters of a decision, those with the most replicas first.
func largest(clusters []v1alpha1.BindingCluster) []v1alpha1.BindingCluster {
	out := slices.Clone(clusters)
	slices.SortStableFunc(out, func(a, b v1alpha1.BindingCluster) int {
		return cmp.Or(cmp.Compare(b.Replicas, a.Replicas), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// news says whether a decision is to be remembered: the last record says something else, or there is none.
func news(history []v1alpha1.DecisionRecord, r *v1alpha1.DecisionRecord) bool {
	if len(history) == 0 {
		return true
	}
	last := &history[len(history)-1]
	if !slices.Equal(drainedIn(last), drainedIn(r)) {
		return true // a shift tells by it whether the decision knows of its drain
	}
	return last.Wanted != r.Wanted || last.Unplaced != r.Unplaced || last.ClusterCount != r.ClusterCount || !sameDivision(last.Clusters, r.Clusters)
}

// drainedIn are the clusters that got nothing because they are taken out of service, sorted.
func drainedIn(r *v1alpha1.DecisionRecord) []string {
	var out []string
	for _, x := range r.Reasons {
		if x.Code == string(reasons.Drained) {
			out = append(out, x.Cluster)
		}
	}
	slices.Sort(out)
	return out
}

// remembered is a history with one more decision, and without the oldest of too many. One that comes to the same as the last one,
// for the same reason, takes its place: what clusters that come and go have looked at again pushes nothing else out. The last
// split stays while it may have to be redressed, whatever came since: with a long period nothing else would bring it up.
func remembered(history []v1alpha1.DecisionRecord, r v1alpha1.DecisionRecord) []v1alpha1.DecisionRecord {
	out := slices.Clone(history)
	if n := len(out); n > 0 && out[n-1].Trigger == r.Trigger && !news(out, &r) {
		out = out[:n-1]
	}
	out = append(out, r)
	if i := lastSplit(out); len(out) > v1alpha1.MaxDecisions && i == 0 && doubtful(&out[0]) {
		return slices.Delete(out, 1, 1+len(out)-v1alpha1.MaxDecisions)
	}
	return out[max(0, len(out)-v1alpha1.MaxDecisions):]
}

// leftOver says in a sentence why replicas have no place. Names that nobody registered come first: they are most likely
// misspelt, and no room that is found will help them.
func leftOver(history []v1alpha1.DecisionRecord, unplaced, wanted int32) string {
	text := fmt.Sprintf("%d of %s without a place", unplaced, hub.Count(wanted, "replica"))
	if len(history) == 0 {
		return text
	}
	given := slices.Clone(history[len(history)-1].Reasons)
	unknown := func(r v1alpha1.DecisionReason) bool { return r.Code == string(reasons.NoCluster) }
	slices.SortStableFunc(given, func(a, b v1alpha1.DecisionReason) int {
		switch {
		case unknown(a) == unknown(b):
			return 0
		case unknown(a):
			return -1
		}
		return 1
	})
	for i, r := range given {
		if i == 3 {
			return text + "; and more in status.history"
		}
		text += "; "
		if r.Cluster != "" {
			text += r.Cluster + ": "
		}
		text += cmp.Or(r.Message, r.Code)
	}
	return text
}

// unplacedOf is how many replicas the decision in force leaves without a place.
func unplacedOf(d *sched.Decision) int32 {
	return int32(d.Unplaced) //nolint:gosec // at most what was wanted.
}
