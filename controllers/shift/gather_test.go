// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/shift"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ago(d time.Duration) *metav1.Time {
	t := metav1.NewTime(now.Add(-d))
	return &t
}

func seen(name string, replicas, ready int32) v1alpha1.GlobalServiceClusterStatus {
	return v1alpha1.GlobalServiceClusterStatus{Name: name, Replicas: replicas, Ready: ready, Sight: v1alpha1.SightSeen}
}

func service(clusters ...v1alpha1.GlobalServiceClusterStatus) *v1alpha1.GlobalService {
	gs := &v1alpha1.GlobalService{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "echo"}}
	gs.Status.Clusters = clusters
	return gs
}

func drainOf(cluster string, goal v1alpha1.GoalKind, age time.Duration) v1alpha1.ClusterDrain {
	d := v1alpha1.ClusterDrain{ObjectMeta: metav1.ObjectMeta{Name: cluster, CreationTimestamp: *ago(age)}}
	d.Spec.ClusterName, d.Status.Goal = cluster, goal
	return d
}

func TestSplitFollowsWantedReplicasOfClustersInService(t *testing.T) {
	gs := service(seen("c1", 3, 3), seen("c2", 3, 0), seen("c3", 3, 3))
	got := targetSplit(gs, nil, nil)
	want := map[string]shift.Permille{"c1": 334, "c2": 333, "c3": 333}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	got = targetSplit(gs, nil, wantsOf([]v1alpha1.ClusterDrain{drainOf("c2", v1alpha1.GoalDrain, time.Minute)}))
	want = map[string]shift.Permille{"c1": 500, "c2": 0, "c3": 500}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestSplitKeepsWhatStandsWhenNothingTellsHowToSplit(t *testing.T) {
	gs := service(seen("c1", 0, 0), seen("c2", 0, 0))
	gs.Spec.Clusters = []v1alpha1.GlobalServiceCluster{{Name: "c1", Weight: 700}, {Name: "c2", Weight: 300}}
	want := map[string]shift.Permille{"c1": 700, "c2": 300}
	if d := cmp.Diff(want, targetSplit(gs, nil, nil)); d != "" {
		t.Error(d)
	}
}

func TestSplitAlwaysSumsToTheWholeAndGivesNothingForNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		replicas := rapid.SliceOfN(rapid.Int32Range(0, 500), 1, 12).Draw(t, "replicas")
		var clusters []v1alpha1.GlobalServiceClusterStatus
		var total int32
		for i, r := range replicas {
			clusters = append(clusters, seen(string(rune('a'+i)), r, r))
			total += r
		}
		split := targetSplit(service(clusters...), nil, nil)
		var sum shift.Permille
		for i, r := range replicas {
			share := split[string(rune('a'+i))]
			sum += share
			if total > 0 && r == 0 && share != 0 {
				t.Fatalf("cluster %d has no replicas and gets %d", i, share)
			}
		}
		if sum != shift.Whole {
			t.Fatalf("shares sum to %d", sum)
		}
	})
}

// However replicas, weights and drains stand, what is gathered is a State: a service whose State is none stands still, and
// says nothing.
func TestWhateverStandsInObjectsAStateIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"c1", "c2", "c3"}
		gs := service()
		var drains []v1alpha1.ClusterDrain
		weights := rapid.SampledFrom([][]int32{{1000, 0, 0}, {500, 500, 0}, {0, 300, 700}, {334, 333, 333}}).Draw(t, "weights")
		gs.Spec.Phase = v1alpha1.RulesWeights
		gs.Spec.Record = &v1alpha1.ShiftRecord{}
		b := &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}}
		for i, name := range names {
			n := rapid.Int32Range(0, 2).Draw(t, "replicas of "+name)
			gs.Status.Clusters = append(gs.Status.Clusters, seen(name, n, rapid.Int32Range(0, n).Draw(t, "ready in "+name)))
			gs.Spec.Clusters = append(gs.Spec.Clusters, v1alpha1.GlobalServiceCluster{Name: name, Weight: weights[i]})
			gs.Spec.Record.Before = append(gs.Spec.Record.Before, v1alpha1.ClusterBefore{Name: name, Weight: weights[i], Replicas: n})
			if goal := rapid.SampledFrom([]v1alpha1.GoalKind{"", v1alpha1.GoalDrain, v1alpha1.GoalUndrain, v1alpha1.GoalAbort}).Draw(t, "goal of "+name); goal != "" {
				drains = append(drains, drainOf(name, goal, time.Duration(i)*time.Minute))
			}
			if decided := rapid.Int32Range(0, 2).Draw(t, "decided for "+name); decided > 0 {
				b.Spec.Clusters = append(b.Spec.Clusters, v1alpha1.BindingCluster{Name: name, Replicas: decided})
			}
		}
		if gone := rapid.SampledFrom([]int32{0, 250, 1000}).Draw(t, "share of one that left since"); gone > 0 {
			for i := range gs.Spec.Record.Before {
				gs.Spec.Record.Before[i].Weight = gs.Spec.Record.Before[i].Weight * (1000 - gone) / 1000
			}
			gs.Spec.Record.Before = append(gs.Spec.Record.Before, v1alpha1.ClusterBefore{Name: "gone", Weight: gone})
		}
		b.Status.Unplaced = rapid.Int32Range(0, 2).Draw(t, "unplaced")
		if rapid.Bool().Draw(t, "plain") {
			b = nil
		}
		if err := shift.Validate(stateOf(gs, b, drains, now)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestProofOfAnOlderGenerationProvesNothing(t *testing.T) {
	p := v1alpha1.ProofStatus{Level: v1alpha1.ProofProven, Generation: 4, SeenAt: ago(time.Second), Lease: v1alpha1.LeaseHeld}
	cases := map[string]struct {
		proof      v1alpha1.ProofStatus
		generation int64
		written    bool
		late       bool
		level      shift.Level
		lease      shift.Lease
	}{
		"of this generation":       {p, 4, true, false, shift.Proven, shift.Fresh},
		"of an older one":          {p, 5, true, false, shift.Waiting, shift.Fresh},
		"nothing was written":      {p, 4, false, false, shift.Unwritten, shift.Stale},
		"read too long ago":        {with(p, func(p *v1alpha1.ProofStatus) { p.SeenAt = ago(11 * time.Second) }), 4, true, false, shift.Proven, shift.Stale},
		"lapsed":                   {with(p, func(p *v1alpha1.ProofStatus) { p.Lease = v1alpha1.LeaseLapsed }), 4, true, false, shift.Proven, shift.Lapsed},
		"late, a proxy is missing": {missing(p, "c1/proxy web.demo: behind"), 4, true, true, shift.Waiting, shift.Fresh},
		"late, an istiod is too":   {missing(p, "c1/proxy web.demo: behind", "c1/istiod istiod-1: stale"), 4, true, true, shift.Waiting, shift.Fresh},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := proofOf(c.proof, c.generation, c.written, waited{late: c.late, settled: true}, now)
			if got.Level != c.level || got.Lease != c.lease {
				t.Errorf("got %s, %s; want %s, %s", got.Level, got.Lease, c.level, c.lease)
			}
			if want := name == "late, a proxy is missing"; got.Overdue != want {
				t.Errorf("overdue is %t", got.Overdue)
			}
		})
	}
}

func TestALapsedLeaseIsBelievedOnlyWhenTheWriteHasHadTimeToBePushed(t *testing.T) {
	gs := service(seen("c1", 3, 3))
	p := v1alpha1.ProofStatus{Generation: 2, Lease: v1alpha1.LeaseLapsed, SeenAt: ago(time.Second)}
	for after, want := range map[time.Duration]shift.Lease{2 * time.Second: shift.Fresh, 7 * time.Second: shift.Lapsed} {
		gs.Status.Steps = []v1alpha1.StepRecord{{Kind: "Fence", StartedAt: metav1.NewMicroTime(now.Add(-after))}}
		if got := proofOf(p, 2, true, waitedFor(gs, nil, now), now).Lease; got != want {
			t.Errorf("%s after the write: %s, want %s", after, got, want)
		}
	}
	gs.Status.Steps = nil
	if got := proofOf(p, 2, true, waitedFor(gs, nil, now), now).Lease; got != shift.Lapsed {
		t.Errorf("with no write on record: %s", got)
	}
}

func with(p v1alpha1.ProofStatus, change func(*v1alpha1.ProofStatus)) v1alpha1.ProofStatus {
	change(&p)
	return p
}

func missing(p v1alpha1.ProofStatus, lines ...string) v1alpha1.ProofStatus {
	p.Level, p.Missing = v1alpha1.ProofNone, lines
	return p
}

func TestQuietTurnsOverdueOnlyAfterTheLimitSinceTheLastFence(t *testing.T) {
	gs := service(seen("c1", 3, 3), seen("c2", 3, 3))
	gs.Status.Clusters[1].Quiet = v1alpha1.QuietBusy
	gs.Status.Steps = []v1alpha1.StepRecord{{Kind: "Fence", Cluster: "c2", StartedAt: metav1.NewMicroTime(now.Add(-4 * time.Minute))}}
	d := drainOf("c2", v1alpha1.GoalDrain, time.Hour)
	w := wantsOf([]v1alpha1.ClusterDrain{d})["c2"]
	if got := quietOf(gs, gs.Status.Clusters[1], w, false, now); got != shift.Busy {
		t.Errorf("before the limit: %s", got)
	}
	if got := quietOf(gs, gs.Status.Clusters[1], w, false, now.Add(2*time.Minute)); got != shift.Overdue {
		t.Errorf("after the limit: %s", got)
	}
}

func TestTheFirstDrainGoesFirst(t *testing.T) {
	wants := wantsOf([]v1alpha1.ClusterDrain{
		drainOf("c2", v1alpha1.GoalDrain, time.Minute), drainOf("c3", v1alpha1.GoalDrain, time.Hour), drainOf("c1", "", 2*time.Hour),
	})
	if wants["c3"].turn >= wants["c2"].turn {
		t.Errorf("c3 asked first and has turn %d, c2 has %d", wants["c3"].turn, wants["c2"].turn)
	}
	if _, ok := wants["c1"]; ok {
		t.Error("a drain that was not admitted asks for something")
	}
}

func TestAStateGatheredFromObjectsIsValidAndBeginsWithTheRules(t *testing.T) {
	gs := service(seen("c1", 3, 3), seen("c2", 3, 3), seen("c3", 3, 3))
	s := stateOf(gs, nil, nil, now)
	if err := shift.Validate(s); err != nil {
		t.Fatal(err)
	}
	step, _ := shift.Next(s)
	if step.Kind != shift.Rules {
		t.Fatalf("first step is %s", step.Kind)
	}
	plan, err := planOf(gs.Spec, s, step)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Phase != v1alpha1.RulesDestinationRules || plan.Generation != 1 || len(plan.Clusters) != 3 {
		t.Errorf("plan %+v", plan)
	}
}

func TestHoweverManyPodsMembersSayThereAreAStateIsValid(t *testing.T) {
	gs := service(seen("c1", maxReady, maxReady), seen("c2", maxReady, maxReady), seen("c3", 3, 3))
	for _, goal := range []v1alpha1.GoalKind{"", v1alpha1.GoalDrain, v1alpha1.GoalAbort} {
		s := stateOf(gs, nil, []v1alpha1.ClusterDrain{drainOf("c3", goal, time.Minute)}, now)
		s.Record = shift.Open
		if err := shift.Validate(s); err != nil {
			t.Errorf("%q: %v", goal, err)
		}
	}
}

func TestAStepThatThePlanCannotHoldIsRefused(t *testing.T) {
	s := stateOf(service(seen("c1", 3, 3), seen("c2", 3, 3)), nil, nil, now)
	if _, err := planOf(v1alpha1.GlobalServiceSpec{}, s, shift.Step{Kind: shift.ReplicasDown, Cluster: "c2"}); err == nil {
		t.Error("a step that removes pods was written into a plan that moves traffic only")
	}
}
