// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/sched"
)

// The view shows ten free cores, and yet two of the pods there find no node.
func TestPodsThatWaitTooLongForANodeGoElsewhere(t *testing.T) {
	w := newWorld(t, 2, web)
	w.pass()
	wait := func(row *v1alpha1.MemberReplicas) {
		if row.Name == "c1" {
			row.Ready, row.Pending = 1, 2
		}
	}
	w.run()
	w.pass()
	w.run(wait)
	w.want(w.pass(), "c1:3 c2:3", "c1:3 c2:3", v1alpha1.TriggerCreated)
	w.now = w.now.Add(patience - time.Second)
	w.want(w.pass(), "c1:3 c2:3", "c1:3 c2:3", v1alpha1.TriggerCreated)
	w.now = w.now.Add(time.Second)
	b := w.pass()
	w.want(b, "c1:1 c2:5", "c1:3 c2:5", v1alpha1.TriggerCreated, v1alpha1.TriggerPlacementFailed)
	if got := b.Status.History[1].Reasons; len(got) != 1 || got[0].Cluster != "c1" || got[0].Code != "PlacementFailed" {
		t.Errorf("reasons: %+v", got)
	}

	// Until those two are gone they are not taken for the one that runs.
	w.run(wait)
	w.views.see(t, "c1", 2, 9)
	w.now = w.now.Add(tryAgain)
	w.want(w.pass(), "c1:1 c2:5", "c1:1 c2:5", v1alpha1.TriggerCreated, v1alpha1.TriggerPlacementFailed)
	w.run()
	w.pass()
	w.run()

	// A wish for more does not bring them back before the member is tried again.
	b = w.binding()
	b.Spec.Replicas, b.Generation = 8, b.Generation+1
	if err := w.Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if b = w.pass(); b.Spec.Clusters[0].Name != "c1" || b.Spec.Clusters[0].Replicas != 1 {
		t.Errorf("decided %+v while c1 counts as full", b.Spec.Clusters)
	}
	w.now = w.now.Add(avoidance + b.Spec.Preference.Period())
	if b = w.pass(); b.Spec.Clusters[0].Replicas != 4 {
		t.Errorf("decided %+v after c1 counted as full", b.Spec.Clusters)
	}
}

func TestAWaitIsOneWithoutABreakThatIsSeen(t *testing.T) {
	start := time.Unix(1000, 0)
	waiting := v1alpha1.MemberReplicas{Name: "c1", Pending: 1, MemberCopy: v1alpha1.MemberCopy{Sight: v1alpha1.SightSeen}}
	rested, blind, scaled := waiting, waiting, waiting
	rested.Pending, blind.Sight, scaled.Reason = 0, v1alpha1.SightBlind, v1alpha1.ReasonHPA
	for name, c := range map[string]struct {
		between v1alpha1.MemberReplicas // seen half way
		after   time.Duration
		want    bool
	}{
		"long enough":                 {waiting, patience, true},
		"not yet":                     {waiting, patience - time.Second, false},
		"it found one in between":     {rested, patience, false},
		"it was not seen":             {blind, patience, false},
		"an autoscaler's pods":        {scaled, patience, false},
		"no longer of this workload":  {v1alpha1.MemberReplicas{Name: "c2"}, patience, false},
		"long enough after the break": {rested, patience + patience/2, true},
	} {
		t.Run(name, func(t *testing.T) {
			var w waits
			w.look([]v1alpha1.MemberReplicas{waiting}, start)
			w.look([]v1alpha1.MemberReplicas{c.between}, start.Add(patience/2))
			w.look([]v1alpha1.MemberReplicas{waiting}, start.Add(patience/2))
			end := start.Add(c.after)
			if got := w.look([]v1alpha1.MemberReplicas{waiting}, end); got != c.want || w.full("c1", end) != c.want {
				t.Fatalf("found %t, full %t", got, w.full("c1", end))
			}
			if w.look([]v1alpha1.MemberReplicas{waiting}, end) {
				t.Error("it was found twice")
			}
			later := end.Add(avoidance)
			w.look(nil, later)
			if w.full("c1", later) || len(w.until) > 0 {
				t.Error("it is full for ever")
			}
		})
	}
}

// TestReplicasThatAreOnTheirWayOutAreNotWaitedFor: a decision for fewer takes those without a node first, and the next one
// must not take them again.
func TestReplicasThatAreOnTheirWayOutAreNotWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		decided           int64
		applied, pending  int32
		ready             int32
		waiting, standing int64
	}{
		"all run":                          {3, 3, 0, 0, 0, 3},
		"two have no node":                 {3, 3, 2, 0, 2, 1},
		"those two were taken away":        {1, 3, 2, 0, 0, 1},
		"one of the two was":               {2, 3, 2, 0, 1, 1},
		"more is decided than asked for":   {5, 3, 2, 0, 2, 3},
		"their Deployment is told first":   {1, 1, 2, 1, 0, 1},
		"more wait than were ever decided": {2, 2, 9, 0, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := &v1alpha1.ResourceBinding{}
			b.Status.Clusters = []v1alpha1.MemberReplicas{{Name: "c1", Applied: c.applied, Pending: c.pending, Ready: c.ready}}
			e := &entry{binding: b, request: sched.Request{Current: map[string]sched.Placement{"c1": {Replicas: c.decided}}}}
			e.waiting()
			got := e.request.Current["c1"]
			if got.Waiting != c.waiting || got.Replicas-got.Waiting != c.standing {
				t.Errorf("%d of %d wait", got.Waiting, got.Replicas)
			}
		})
	}
}
