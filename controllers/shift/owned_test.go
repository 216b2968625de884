// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/shift"
)

func TestADrainBringsReplicasUpElsewhereFirstAndTakesThemDownHereLast(t *testing.T) {
	w := newOwned(t, 3, 3, 3)
	w.settle()
	w.ask("c2", v1alpha1.GoalDrain)
	asked := w.now
	if gs := w.settle(); gs.Status.Shift.Blocked[0].Code != "DecisionAwaited" || len(kinds(gs)) != 2 {
		t.Fatalf("without a decision it went on: %v, %+v", kinds(gs), gs.Status.Shift)
	}
	w.decide([]string{"c2"}, 5, 0, 4)
	gs := w.settle()
	order := []string{"ReplicasUp", "ReplicasUp", "Split", "Fence", "ReplicasDown", "Done"}
	if d := cmp.Diff(order, turns(gs, 2)); d != "" {
		t.Errorf("order:\n%s", d)
	}
	if d := cmp.Diff(map[string]int32{"c1": 5, "c2": 0, "c3": 4}, planned(gs)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]int32{"c1": 556, "c2": 0, "c3": 444}, weights(gs)); d != "" {
		t.Error(d)
	}
	if !doneSince(gs, "c2", v1alpha1.GoalDrain, asked) {
		t.Error("its end is not on record")
	}
	for _, s := range gs.Status.Steps {
		if s.Kind == "ReplicasDown" && (s.Goal != v1alpha1.GoalDrain || *s.Replicas != 0 || s.Quiet != v1alpha1.QuietQuiet ||
			s.Weights.Level != v1alpha1.ProofProven || s.Fence.Level != v1alpha1.ProofProven) {
			t.Errorf("pods went on %+v", s)
		}
		if s.Kind == "ReplicasUp" && (s.Goal != v1alpha1.GoalDrain || s.TraceID == "") {
			t.Errorf("capacity for a drain is on record as %+v", s)
		}
	}
}

func TestAnUndrainGivesReplicasBackBeforeTraffic(t *testing.T) {
	w := newOwned(t, 3, 3, 3)
	w.drained()
	n := len(w.service().Status.Steps)
	w.ask("c2", v1alpha1.GoalUndrain)
	asked := w.now
	if gs := w.settle(); gs.Status.Shift.Blocked[0].Code != "DecisionAwaited" || doneSince(gs, "c2", v1alpha1.GoalUndrain, asked) {
		t.Fatalf("a decision made for the drain was used: %+v", gs.Status.Shift)
	}
	w.decide(nil, 3, 3, 3)
	w.until(func(gs *v1alpha1.GlobalService) bool { return doneSince(gs, "c2", v1alpha1.GoalUndrain, asked) })
	w.ask("c2", "")
	gs := w.settle()
	got := slices.DeleteFunc(turns(gs, n), func(k string) bool { return k == "Done" })
	if want := []string{"ReplicasUp", "Unfence", "Split", "Fence", "ReplicasDown"}; !slices.Equal(got[:5], want) {
		t.Errorf("order %v", got)
	}
	w.atRest(gs, 3, 3, 3)
}

func TestAnAbortGoesBackWhateverWasDecidedForTheDrain(t *testing.T) {
	for _, stop := range []string{"ReplicasUp", "Split", "Fence", "ReplicasDown"} {
		t.Run(stop, func(t *testing.T) {
			w := newOwned(t, 3, 3, 3)
			w.settle()
			n := len(w.service().Status.Steps)
			w.ask("c2", v1alpha1.GoalDrain)
			w.decide([]string{"c2"}, 5, 0, 4)
			w.until(func(gs *v1alpha1.GlobalService) bool { return slices.Contains(kinds(gs)[n:], stop) })
			w.ask("c2", v1alpha1.GoalAbort)
			asked := w.now
			w.until(func(gs *v1alpha1.GlobalService) bool { return doneSince(gs, "c2", v1alpha1.GoalAbort, asked) })
			if d := cmp.Diff(map[string]int32{"c1": 334, "c2": 333, "c3": 333}, weights(w.service())); d != "" {
				t.Error(d)
			}
			w.ask("c2", "")
			if got := planned(w.settle())["c2"]; got != 3 {
				t.Errorf("the decision made for the drain moved c2 to %d after the abort", got)
			}
			w.decide(nil, 3, 3, 3)
			w.atRest(w.settle(), 3, 3, 3)
		})
	}
}

func TestEveryOtherChangeOfADivisionIsAMove(t *testing.T) {
	cases := map[string]struct {
		to    [3]int32
		order []string
	}{
		"scale down":           {[3]int32{2, 2, 2}, []string{"Fence", "ReplicasDown", "Release"}},
		"scale up":             {[3]int32{4, 4, 4}, []string{"ReplicasUp", "ReplicasUp", "ReplicasUp", "Release"}},
		"a changed preference": {[3]int32{6, 2, 1}, []string{"ReplicasUp", "Split", "Fence", "ReplicasDown", "Release"}},
		"a cluster leaves":     {[3]int32{5, 4, 0}, []string{"ReplicasUp", "ReplicasUp", "Split", "Fence", "ReplicasDown", "Release"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newOwned(t, 3, 3, 3)
			w.settle()
			w.decide(nil, c.to[0], c.to[1], c.to[2])
			gs := w.settle()
			if d := cmp.Diff(c.order, turns(gs, 2)); d != "" {
				t.Error(d)
			}
			for _, s := range gs.Status.Steps[2:] {
				if s.Goal != v1alpha1.GoalMove {
					t.Errorf("step %s of %s has goal %q", s.Kind, s.Cluster, s.Goal)
				}
				if s.Kind == "ReplicasDown" && (s.Weights.Level != v1alpha1.ProofProven || s.Fence.Level != v1alpha1.ProofProven || s.Quiet != v1alpha1.QuietQuiet) {
					t.Errorf("pods went on %+v", s)
				}
			}
			w.atRest(gs, c.to[0], c.to[1], c.to[2])
		})
	}
}

func TestAHubThatIsKilledAtAnyStepFinishesTheDrain(t *testing.T) {
	whole := newOwned(t, 3, 3, 3)
	whole.drained()
	want := planned(whole.service())
	for k := range whole.writes {
		w := newOwned(t, 3, 3, 3)
		left := k
		w.onPlan = func() error {
			left--
			if left == -1 {
				return errors.New("killed")
			}
			return nil
		}
		w.lenient = true
		w.drained()
		gs := w.service()
		if d := cmp.Diff(want, planned(gs)); d != "" || !doneSince(gs, "c2", v1alpha1.GoalDrain, time.Time{}) {
			t.Errorf("killed at write %d: %v\n%s", k, kinds(gs), d)
		}
		seen := map[string]int{}
		for _, s := range gs.Status.Steps {
			if s.Kind == "ReplicasUp" || s.Kind == "ReplicasDown" {
				if seen[s.Kind+s.Cluster]++; seen[s.Kind+s.Cluster] > 1 {
					t.Errorf("killed at write %d: %s of %s is on record twice", k, s.Kind, s.Cluster)
				}
			}
		}
	}
}

func TestADrainIsNotDoneBeforeTheMemberWasSeenToAskForNone(t *testing.T) {
	w := newOwned(t, 3, 3, 3)
	w.frozen = map[string]bool{"c2": true}
	w.settle()
	w.ask("c2", v1alpha1.GoalDrain)
	w.decide([]string{"c2"}, 5, 0, 4)
	gs := w.settle()
	if planned(gs)["c2"] != 0 || doneSince(gs, "c2", v1alpha1.GoalDrain, time.Time{}) {
		t.Errorf("planned %v, on record %v", planned(gs), kinds(gs))
	}
	w.frozen = nil
	if gs = w.settle(); !doneSince(gs, "c2", v1alpha1.GoalDrain, time.Time{}) {
		t.Errorf("on record %v", kinds(gs))
	}
}

func TestADecisionThatChangesOnTheWayIsFollowed(t *testing.T) {
	for _, at := range []string{"ReplicasUp", "Split", "Fence"} {
		t.Run(at, func(t *testing.T) {
			w := newOwned(t, 3, 3, 3)
			w.settle()
			w.decide(nil, 5, 4, 0)
			w.until(func(gs *v1alpha1.GlobalService) bool { return slices.Contains(kinds(gs)[2:], at) })
			w.decide(nil, 4, 1, 4)
			w.atRest(w.settle(), 4, 1, 4)
		})
	}
}

func TestWhoElseIsAtTheWorkloadIsWaitedForByName(t *testing.T) {
	cases := map[string]struct {
		change func(*v1alpha1.MemberReplicas)
		code   string
	}{
		"a rollout":     {func(m *v1alpha1.MemberReplicas) { m.Rollout = v1alpha1.RolloutProgressing }, "RolloutUnderWay"},
		"an autoscaler": {func(m *v1alpha1.MemberReplicas) { m.Reason = v1alpha1.ReasonHPA }, "AutoscalerOwns"}, // as an older hub said it
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newOwned(t, 3, 3, 3)
			w.settle()
			w.row("c2", c.change)
			w.ask("c2", v1alpha1.GoalDrain)
			w.decide([]string{"c2"}, 5, 0, 4)
			gs := w.settle()
			if planned(gs)["c2"] != 3 || !slices.ContainsFunc(gs.Status.Shift.Blocked, func(b v1alpha1.Blocker) bool {
				return b.Code == c.code && b.Cluster == "c2" && b.Message != ""
			}) {
				t.Errorf("planned %v, blocked %+v", planned(gs), gs.Status.Shift.Blocked)
			}
			w.row("c2", func(m *v1alpha1.MemberReplicas) { m.Rollout, m.Reason = v1alpha1.RolloutComplete, "" })
			if gs = w.settle(); planned(gs)["c2"] != 0 {
				t.Errorf("afterwards %v, %+v", planned(gs), gs.Status.Shift)
			}
		})
	}
}

func TestAStuckRolloutHoldsOnlyWhileOlderPodsAreThere(t *testing.T) {
	cases := map[string]struct {
		row  v1alpha1.MemberReplicas
		want shift.Hold
	}{
		"older pods are there":    {v1alpha1.MemberReplicas{Applied: 3, Updated: 1, Rollout: v1alpha1.RolloutStuck}, shift.RollingOut},
		"pods that have no node":  {v1alpha1.MemberReplicas{Applied: 3, Updated: 3, Rollout: v1alpha1.RolloutStuck}, shift.Unheld},
		"it goes on":              {v1alpha1.MemberReplicas{Applied: 3, Updated: 3, Rollout: v1alpha1.RolloutProgressing}, shift.RollingOut},
		"nothing was seen there":  {v1alpha1.MemberReplicas{}, shift.Unheld},
		"an autoscaler is there":  {v1alpha1.MemberReplicas{MemberCopy: v1alpha1.MemberCopy{Reason: v1alpha1.ReasonHPA}}, shift.Unheld},
		"the copy is not written": {v1alpha1.MemberReplicas{MemberCopy: v1alpha1.MemberCopy{Reason: "WriteFailed"}}, shift.Unheld},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := holdOf(c.row); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestPodsThatNeverWereReadyGoWithoutTheFence(t *testing.T) {
	w := newOwned(t, 5, 4)
	w.fits = map[string]int32{"c1": 3}
	w.settle()
	w.decide(nil, 3, 6)
	gs := w.settle()
	if got := kinds(gs)[2:]; slices.Contains(got, "Fence") || !slices.Contains(got, "ReplicasDown") {
		t.Errorf("on record %v", got)
	}
	for i, s := range w.planned {
		if s.Record != nil && s.Clusters[0].Replicas != nil && *s.Clusters[0].Replicas == 3 && s.FenceGeneration == 0 {
			t.Errorf("plan %d takes pods away before it was proven that none is fenced", i)
		}
	}
	w.atRest(gs, 3, 6)
}

func TestReplicasThatFitNowhereStayWhereTheyAre(t *testing.T) {
	w := newOwned(t, 3, 3, 3)
	w.settle()
	b := w.binding()
	b.Status.Unplaced = 2
	w.update(b)
	w.decide(nil, 3, 0, 4)
	gs := w.settle()
	if d := cmp.Diff(map[string]int32{"c1": 3, "c2": 2, "c3": 4}, planned(gs)); d != "" {
		t.Errorf("with no room elsewhere:\n%s", d)
	}
	if d := cmp.Diff(map[string]int32{"c1": 333, "c2": 222, "c3": 445}, weights(gs)); d != "" {
		t.Errorf("they serve:\n%s", d)
	}
	b = w.binding()
	b.Status.Unplaced = 0
	w.update(b)
	w.decide(nil, 4, 0, 5)
	w.atRest(w.settle(), 4, 0, 5)
}

func TestADrainGoesOnWithoutRoomForAllAndSaysSo(t *testing.T) {
	w := newOwned(t, 3, 3, 3)
	w.settle()
	b := w.binding()
	b.Status.Unplaced = 2
	w.update(b)
	w.ask("c2", v1alpha1.GoalDrain)
	w.decide([]string{"c2"}, 3, 0, 4)
	told := false
	w.until(func(gs *v1alpha1.GlobalService) bool {
		told = told || slices.ContainsFunc(gs.Status.Shift.Notices, func(n v1alpha1.Notice) bool { return n.Code == "HeadroomLost" })
		return doneSince(gs, "c2", v1alpha1.GoalDrain, time.Time{})
	})
	if !told {
		t.Error("nobody was told that less is left than before")
	}
	if d := cmp.Diff(map[string]int32{"c1": 3, "c2": 0, "c3": 4}, planned(w.service())); d != "" {
		t.Error(d)
	}
}

func TestACrashAtRestIsNoMove(t *testing.T) {
	w := newOwned(t, 3, 3)
	w.settle()
	w.fits = map[string]int32{"c1": 2}
	gs := w.settle()
	if gs.Spec.Record != nil || len(gs.Status.Shift.Blocked) > 0 || gs.Status.Shift.Step != "Done" {
		t.Errorf("record %+v, shift %+v", gs.Spec.Record, gs.Status.Shift)
	}
}

func TestPodsOfSomebodyElseMakeAServicePlain(t *testing.T) {
	w := newOwned(t, 3, 3)
	gs := w.service()
	gs.Status.Clusters[0].Workloads = []string{"Deployment/mine"}
	if b, err := w.r.bindingOf(t.Context(), gs); b != nil || err != nil {
		t.Errorf("got %v, %v", b, err)
	}
	gs.Status.Clusters[0].Workloads = nil
	if b, err := w.r.bindingOf(t.Context(), gs); b == nil || err != nil {
		t.Errorf("got %v, %v", b, err)
	}
	if got := w.r.servicesOfBinding(t.Context(), w.binding()); len(got) != 1 || got[0].NamespacedName != serviceKey {
		t.Errorf("a binding wakes %v", got)
	}
	if err := w.hub.Delete(t.Context(), w.binding()); err != nil {
		t.Fatal(err)
	}
	if b, err := w.r.bindingOf(t.Context(), gs); b != nil || err != nil {
		t.Errorf("whose binding is gone: %v, %v", b, err)
	}
}

func TestReasonsOfAnOlderDivisionSayNothingAboutTheDecision(t *testing.T) {
	b := &v1alpha1.ResourceBinding{}
	b.Spec.Clusters = []v1alpha1.BindingCluster{{Name: "c1", Replicas: 2}, {Name: "c2", Replicas: 1}}
	b.Status.History = []v1alpha1.DecisionRecord{{
		Time: metav1.NewTime(now), Clusters: []v1alpha1.BindingCluster{{Name: "c1", Replicas: 3}}, ClusterCount: 1,
		Reasons: []v1alpha1.DecisionReason{{Cluster: "c2", Code: "Drained"}},
	}}
	if outdated(b, nil) {
		t.Error("the decision was written, its record is on the way")
	}
	b.Spec.Clusters = []v1alpha1.BindingCluster{{Name: "c1", Replicas: 3}}
	if !outdated(b, nil) {
		t.Error("the drain that it was made for holds no more")
	}
	if outdated(b, wantsOf([]v1alpha1.ClusterDrain{drainOf("c2", v1alpha1.GoalDrain, time.Minute)})) {
		t.Error("the drain that it was made for holds")
	}
	if !outdated(&v1alpha1.ResourceBinding{}, nil) {
		t.Error("nothing was decided")
	}
}

// turns are the kinds of the steps on record from the first on, each run of one kind once, but ReplicasUp for each cluster.
func turns(gs *v1alpha1.GlobalService, first int) []string {
	var out []string
	last := ""
	for _, s := range gs.Status.Steps[first:] {
		key := s.Kind
		if s.Kind == "ReplicasUp" {
			key = fmt.Sprint(s.Kind, s.Cluster)
		}
		if key != last {
			out = append(out, s.Kind)
		}
		last = key
	}
	return out
}

func planned(gs *v1alpha1.GlobalService) map[string]int32 {
	out := map[string]int32{}
	for _, c := range gs.Spec.Clusters {
		if c.Replicas != nil {
			out[c.Name] = *c.Replicas
		}
	}
	return out
}

var bindingKey = client.ObjectKey{Namespace: "demo", Name: "deployment-echo"}
