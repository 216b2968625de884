// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/sched"
	"github.com/weir-io/weir/sched/filter"
)

func TestWhatChangedOfTheFleetIsNamed(t *testing.T) {
	kinds := []string{"apps/v1/Deployment"}
	serves := func(apis ...string) func(*sched.ClusterView) { return func(v *sched.ClusterView) { v.Serves = apis } }
	fleet := func(change func(*sched.ClusterView)) map[string]offer {
		v := sched.ClusterView{Cluster: "c1", Seen: true, Region: "north"}
		if change != nil {
			change(&v)
		}
		return offers([]sched.ClusterView{v, {Cluster: "c2"}}, kinds)
	}
	drained := func(v *sched.ClusterView) { v.Duty = filter.Drained }
	suspect := func(v *sched.ClusterView) { v.Health = filter.Suspect }
	for name, c := range map[string]struct {
		before, now map[string]offer
		trigger     v1alpha1.DecisionTrigger
		rebalance   bool
	}{
		"nothing":      {fleet(nil), fleet(nil), "", false},
		"a newer view": {fleet(nil), fleet(func(v *sched.ClusterView) { v.Version = 9 }), "", false},
		"a drain":      {fleet(nil), fleet(drained), v1alpha1.TriggerDrain, false},
		"an undrain":   {fleet(drained), fleet(nil), v1alpha1.TriggerUndrain, true},
		"an undrain, and another drain": {
			offers([]sched.ClusterView{{Cluster: "c1", Duty: filter.Drained}, {Cluster: "c2"}}, kinds),
			offers([]sched.ClusterView{{Cluster: "c1"}, {Cluster: "c2", Duty: filter.Drained}}, kinds), v1alpha1.TriggerUndrain, true,
		},
		"suspect":        {fleet(nil), fleet(suspect), v1alpha1.TriggerClusterSuspect, false},
		"dead":           {fleet(suspect), fleet(func(v *sched.ClusterView) { v.Health = filter.Dead }), v1alpha1.TriggerClusterDead, false},
		"back":           {fleet(suspect), fleet(nil), v1alpha1.TriggerClusterReturned, false},
		"joined":         {offers(nil, kinds), fleet(nil), v1alpha1.TriggerClusterJoined, false},
		"left":           {fleet(nil), offers([]sched.ClusterView{{Cluster: "c2"}}, kinds), v1alpha1.TriggerClusterLeft, false},
		"another region": {fleet(nil), fleet(func(v *sched.ClusterView) { v.Region = "south" }), v1alpha1.TriggerClusterJoined, false},
		"served at last": {fleet(serves("v1/Pod")), fleet(serves("v1/Pod", "apps/v1/Deployment")), v1alpha1.TriggerClusterJoined, false},
		"another kind":   {fleet(nil), fleet(serves("apps/v1/Deployment", "example.com/v1/Other")), "", false},
		"seen at last":   {fleet(func(v *sched.ClusterView) { v.Seen = false }), fleet(nil), v1alpha1.TriggerClusterJoined, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := changed(c.before, c.now)
			switch {
			case got == nil && c.trigger == "":
			case got == nil || got.trigger != c.trigger || got.rebalance != c.rebalance:
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestOfTwoReasonsNeitherIsLost(t *testing.T) {
	wish, period := why{trigger: v1alpha1.TriggerWishChanged}, why{trigger: v1alpha1.TriggerPeriod, rebalance: true}
	undrain := why{trigger: v1alpha1.TriggerUndrain, rebalance: true}
	owed := why{trigger: v1alpha1.TriggerPreferenceChanged, rebalance: true, redress: true}
	for name, c := range map[string]struct {
		first why
		other *why
		want  why
	}{
		"one alone":                   {wish, nil, wish},
		"a wish and a split":          {wish, &undrain, undrain},
		"a split and a wish":          {undrain, &wish, undrain},
		"a wish and the period":       {wish, &period, why{trigger: v1alpha1.TriggerWishChanged, rebalance: true}},
		"the period and a split":      {period, &undrain, undrain},
		"a split and one to redress":  {undrain, &owed, why{trigger: v1alpha1.TriggerUndrain, rebalance: true, redress: true}},
		"a wish and one to redress":   {wish, &owed, owed},
		"one to redress and a split":  {owed, &undrain, owed},
		"one to redress and a period": {owed, &period, owed},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.first.with(c.other); *got != c.want {
				t.Errorf("got %+v", *got)
			}
		})
	}
}

func TestAWorkloadIsDecidedAgainOnlyForAReason(t *testing.T) {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	entryOf := func(change func(*v1alpha1.ResourceBinding)) *entry {
		b := &v1alpha1.ResourceBinding{}
		b.Spec.Replicas = 3
		b.Status.History = []v1alpha1.DecisionRecord{{Time: metav1.NewTime(now), Trigger: v1alpha1.TriggerCreated}}
		if change != nil {
			change(b)
		}
		return &entry{binding: b}
	}
	base := entryOf(nil)
	known := func() *memory {
		return &memory{wish: wishOf(base.binding), preference: preferenceOf(base.binding), views: 1, decided: now, rebalanced: now}
	}
	inDrain := func(cluster string) func(*v1alpha1.ResourceBinding) {
		return func(b *v1alpha1.ResourceBinding) {
			b.Status.History[0].Reasons = []v1alpha1.DecisionReason{{Cluster: cluster, Code: "Drained"}}
		}
	}
	split := func(cluster, code string, later ...v1alpha1.DecisionTrigger) *entry {
		return entryOf(func(b *v1alpha1.ResourceBinding) {
			b.Status.History = []v1alpha1.DecisionRecord{{
				Time: metav1.NewTime(now), Trigger: v1alpha1.TriggerUndrain, Reasons: []v1alpha1.DecisionReason{{Cluster: cluster, Code: code}},
			}}
			for _, t := range later {
				b.Status.History = append(b.Status.History, v1alpha1.DecisionRecord{Time: metav1.NewTime(now), Trigger: t})
			}
		})
	}
	givesBack, drains := &why{trigger: v1alpha1.TriggerUndrain, rebalance: true}, &why{trigger: v1alpha1.TriggerDrain}
	for name, c := range map[string]struct {
		entry *entry
		known *memory
		fleet *why
		views uint64
		after time.Duration
		want  v1alpha1.DecisionTrigger
	}{
		"nothing":                               {base, known(), nil, 1, time.Minute, ""},
		"new":                                   {entryOf(func(b *v1alpha1.ResourceBinding) { b.Status.History = nil }), nil, nil, 1, 0, v1alpha1.TriggerCreated},
		"a cluster given back, to a new one":    {entryOf(func(b *v1alpha1.ResourceBinding) { b.Status.History = nil }), nil, givesBack, 1, 0, v1alpha1.TriggerCreated},
		"the same, and the hub knows it not":    {base, nil, givesBack, 1, 0, v1alpha1.TriggerUndrain},
		"the same, and another wish":            {entryOf(func(b *v1alpha1.ResourceBinding) { b.Spec.Replicas = 4 }), known(), givesBack, 1, 0, v1alpha1.TriggerUndrain},
		"a drain, and another wish":             {entryOf(func(b *v1alpha1.ResourceBinding) { b.Spec.Replicas = 4 }), known(), drains, 1, 0, v1alpha1.TriggerWishChanged},
		"a hub that began anew":                 {base, nil, nil, 1, 0, v1alpha1.TriggerPeriod},
		"a hub that began anew in a drain":      {entryOf(inDrain("c1")), nil, nil, 1, 0, v1alpha1.TriggerPeriod},
		"a hub that began anew after it":        {entryOf(inDrain("c2")), nil, nil, 1, 0, v1alpha1.TriggerUndrain},
		"a split while one was suspect":         {split("c2", "Suspect"), known(), nil, 1, 0, v1alpha1.TriggerUndrain},
		"the same, in a hub that began anew":    {split("c2", "NoView"), nil, nil, 1, 0, v1alpha1.TriggerUndrain},
		"the same, and it returned meanwhile":   {split("c2", "Suspect", v1alpha1.TriggerClusterReturned), known(), nil, 1, 0, v1alpha1.TriggerUndrain},
		"the same, and it was split since":      {split("c2", "Suspect", v1alpha1.TriggerClusterReturned, v1alpha1.TriggerUndrain), known(), nil, 1, 0, ""},
		"a split while one was suspect, and is": {split("c3", "Suspect"), known(), nil, 1, 0, ""},
		"a split where one lacks room":          {split("c2", "NoRoom"), known(), nil, 1, 0, ""},
		"another wish":                          {entryOf(func(b *v1alpha1.ResourceBinding) { b.Spec.Replicas = 4 }), known(), nil, 1, 0, v1alpha1.TriggerWishChanged},
		"another preference":                    {entryOf(func(b *v1alpha1.ResourceBinding) { b.Spec.Preference = &v1alpha1.ReplicaPreference{} }), known(), nil, 1, 0, v1alpha1.TriggerPreferenceChanged},
		"its own decision": {entryOf(func(b *v1alpha1.ResourceBinding) {
			b.Spec.Clusters = []v1alpha1.BindingCluster{{Name: "c1", Replicas: 3}}
		}), known(), nil, 1, 0, ""},
		"the fleet":                          {base, known(), &why{trigger: v1alpha1.TriggerDrain}, 1, 0, v1alpha1.TriggerDrain},
		"the period":                         {base, known(), nil, 1, 5 * time.Minute, v1alpha1.TriggerPeriod},
		"room, where nothing waits for it":   {base, known(), nil, 2, time.Minute, ""},
		"room, where a replica waits for it": {entryOf(func(b *v1alpha1.ResourceBinding) { b.Status.Unplaced = 1 }), known(), nil, 2, time.Minute, v1alpha1.TriggerCapacityChanged},
		"room, a moment ago":                 {entryOf(func(b *v1alpha1.ResourceBinding) { b.Status.Unplaced = 1 }), known(), nil, 2, time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := reason(c.entry, c.known, c.fleet, map[string]bool{"c1": true}, map[string]bool{"c2": true}, c.views, now.Add(c.after))
			if got == nil && c.want == "" {
				return
			}
			if got == nil || got.trigger != c.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}
