// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/sched"
	"github.com/weir-io/weir/sched/filter"
	reasons "github.com/weir-io/weir/sched/reason"
)

// tryAgain is how long after a decision a workload that was not placed whole, or waits for nodes or for a view, is looked at
// again because views have moved.
const tryAgain = 5 * time.Second

// why is the reason to decide, or decide again.
type why struct {
	trigger v1alpha1.DecisionTrigger
	// rebalance: what stands may move to where the weights want it.
	rebalance bool
	// redress: a split is made anew that was made on half a view. It is remembered also where it comes out the same.
	redress bool
}

// rebalances says whether there is a reason, and it moves what stands to where the weights want it.
func (w *why) rebalances() bool { return w != nil && w.rebalance }

// with is a reason to which another one may have come: what either asks for is done. A split by weights gives its name to
// both, because it is found again by that where it has to be redressed.
func (w why) with(other *why) *why {
	if other == nil {
		return &w
	}
	if isSplit(other.trigger) && !isSplit(w.trigger) {
		w.trigger = other.trigger
	}
	w.rebalance, w.redress = w.rebalance || other.rebalance, w.redress || other.redress
	return &w
}

// memory is what is remembered of one workload from pass to pass. It is lost with the hub: then everything is decided once
// more, on what stands, which changes nothing that does not have to change.
type memory struct {
	wish       uint64    // hash of the wish that was decided on
	preference uint64    // hash of the preference in it
	views      uint64    // hash of the versions of all views
	decided    time.Time // the last look
	rebalanced time.Time
	waits      waits // for nodes
}

// offer is what of a cluster, besides its nodes, may change a decision.
type offer struct {
	duty   filter.Duty
	health filter.Health
	seen   bool
	terms  uint64 // hash of labels, taints, region and zone
	lacks  string // kinds of workloads that its API server does not serve, by name
}

// offers of all clusters to workloads of these kinds. What else an API server serves, or does not, decides nothing.
func offers(views []sched.ClusterView, kinds []string) map[string]offer {
	out := make(map[string]offer, len(views))
	for i := range views {
		v := &views[i]
		o := offer{duty: v.Duty, health: v.Health, seen: v.Seen, terms: hashOf([]any{v.Labels, v.Taints, v.Region, v.Zone})}
		for _, kind := range kinds {
			if !filter.Serves(v.Serves, kind) {
				o.lacks += kind + " "
			}
		}
		out[v.Cluster] = o
	}
	return out
}

// kinds of the workloads of a pass, each once.
func (in *input) kinds() []string {
	var out []string
	for _, e := range in.entries {
		if kind := e.request.Where.Kind; !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	slices.Sort(out)
	return out
}

// order in which changes of the fleet are named, where several come at once. What has to move does so whatever the name; that a
// cluster is given back rebalances, and nothing else does.
var order = []v1alpha1.DecisionTrigger{
	v1alpha1.TriggerUndrain, v1alpha1.TriggerDrain, v1alpha1.TriggerClusterDead, v1alpha1.TriggerClusterLeft,
	v1alpha1.TriggerClusterReturned, v1alpha1.TriggerClusterJoined, v1alpha1.TriggerClusterSuspect,
}

// turn is what happened to one cluster between two passes.
func turn(before, now offer) v1alpha1.DecisionTrigger {
	switch {
	case now.duty != before.duty && now.duty == filter.Drained:
		return v1alpha1.TriggerDrain
	case now.duty != before.duty:
		return v1alpha1.TriggerUndrain
	case now.health == before.health:
		return v1alpha1.TriggerClusterJoined
	case now.health == filter.Healthy:
		return v1alpha1.TriggerClusterReturned
	case now.health == filter.Suspect:
		return v1alpha1.TriggerClusterSuspect
	}
	return v1alpha1.TriggerClusterDead
}

// changed says what of the fleet changed between two passes; nil: nothing that could change a decision.
func changed(before, now map[string]offer) *why {
	var found []v1alpha1.DecisionTrigger
	for name, n := range now {
		b, there := before[name]
		switch {
		case !there:
			found = append(found, v1alpha1.TriggerClusterJoined)
		case b != n:
			found = append(found, turn(b, n))
		}
	}
	for name := range before {
		if _, there := now[name]; !there {
			found = append(found, v1alpha1.TriggerClusterLeft)
		}
	}
	for _, t := range order {
		if slices.Contains(found, t) {
			// A cluster that is given back gets its share back; for anything else only what has to move does.
			return &why{trigger: t, rebalance: t == v1alpha1.TriggerUndrain}
		}
	}
	return nil
}

// givenBack says whether the decision in force was made while some cluster was drained that is drained no longer: a hub
// that began anew in between has not seen it being given back.
func givenBack(b *v1alpha1.ResourceBinding, drained map[string]bool) bool {
	last := b.Status.History[len(b.Status.History)-1]
	return slices.ContainsFunc(last.Reasons, func(r v1alpha1.DecisionReason) bool {
		return r.Code == string(reasons.Drained) && !drained[r.Cluster]
	})
}

// reason to decide about a workload now; nil: there is none. fleet is what changed of the fleet, drained are the clusters
// that are out of service, and sound those that can be counted on. Of several that come at once the first is named. It is
// decided on all that is so by then, whatever the name, so nothing is lost by that but a rebalance: what rebalances comes first.
func reason(e *entry, m *memory, fleet *why, drained, sound map[string]bool, views uint64, now time.Time) *why {
	b := e.binding
	owed := redress(b.Status.History, sound)
	switch {
	case len(b.Status.History) == 0:
		return &why{trigger: v1alpha1.TriggerCreated}
	case m == nil && givenBack(b, drained):
		return &why{trigger: v1alpha1.TriggerUndrain, rebalance: true}
	case owed != "":
		return &why{trigger: owed, rebalance: true, redress: true}
	case fleet.rebalances():
		return fleet
	case m == nil:
		return &why{trigger: v1alpha1.TriggerPeriod}
	case m.preference != preferenceOf(b):
		return &why{trigger: v1alpha1.TriggerPreferenceChanged, rebalance: true}
	case m.wish != wishOf(b):
		return &why{trigger: v1alpha1.TriggerWishChanged}
	case e.failed:
		return &why{trigger: v1alpha1.TriggerPlacementFailed}
	case fleet != nil:
		return fleet
	case now.Sub(m.rebalanced) >= b.Spec.Preference.Period():
		return &why{trigger: v1alpha1.TriggerPeriod, rebalance: true}
	case m.views != views && now.Sub(m.decided) >= tryAgain && e.unsettled():
		return &why{trigger: v1alpha1.TriggerCapacityChanged}
	}
	return nil
}

// unsettled says whether more or less room somewhere may change the decision.
func (e *entry) unsettled() bool {
	for _, c := range e.request.Current {
		if c.Waiting > 0 {
			return true
		}
	}
	return e.binding.Status.Unplaced > 0
}

// next is when the workload is due without an event. unseen are the clusters that only lack a view.
func (e *entry) next(m *memory, unseen map[string]bool, now time.Time) time.Duration {
	due := m.rebalanced.Add(e.binding.Spec.Preference.Period()).Sub(now)
	if e.unsettled() || redress(e.binding.Status.History, unseen) != "" {
		due = min(due, tryAgain)
	}
	return max(due, time.Second)
}

func wishOf(b *v1alpha1.ResourceBinding) uint64 {
	wish := b.Spec
	wish.Clusters, wish.Plan = nil, nil
	return hashOf(wish)
}

func preferenceOf(b *v1alpha1.ResourceBinding) uint64 { return hashOf(b.Spec.Preference) }

func versionsOf(views []sched.ClusterView) uint64 {
	versions := make([]any, 0, 2*len(views))
	for i := range views {
		versions = append(versions, views[i].Cluster, views[i].Version)
	}
	return hashOf(versions)
}

func hashOf(v any) uint64 {
	h := fnv.New64a()
	raw, err := json.Marshal(v)
	if err != nil {
		return 0 // not of what comes from JSON.
	}
	_, _ = h.Write(raw)
	return h.Sum64()
}
