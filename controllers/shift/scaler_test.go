// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/shift"
)

// autoscaler asks for so many replicas of the workload in one member.
type autoscaler struct {
	asks     int32
	operated bool
}

// act is what sync and the autoscaler make of n planned replicas where a workload asks for so many now.
func (a *autoscaler) act(gs *v1alpha1.GlobalService, cluster string, n, now int32) (int32, *v1alpha1.MemberAutoscaler) {
	out := &v1alpha1.MemberAutoscaler{Name: "HorizontalPodAutoscaler echo", State: v1alpha1.AutoscalerOwns}
	switch {
	case a.operated:
		out.Name, out.State = "ScaledObject echo", v1alpha1.AutoscalerOperated
		n = a.asks
	case lowered(gs, cluster):
		out.State = v1alpha1.AutoscalerHeld
	case now > 0:
		n = a.asks
	}
	return n, out
}

// blockedBy is the message of a code about a cluster; empty: it is not waited for.
func blockedBy(gs *v1alpha1.GlobalService, code shift.Code, cluster string) string {
	for _, b := range gs.Status.Shift.Blocked {
		if b.Code == code.String() && b.Cluster == cluster {
			return b.Message
		}
	}
	return ""
}

func limitsOf(gs *v1alpha1.GlobalService, cluster string) v1alpha1.AutoscalerLimits {
	return find(gs.Spec.Clusters, cluster).Autoscaler
}

func TestADrainTakesWhatAnAutoscalerAskedForAndGivesItBack(t *testing.T) {
	w := newOwned(t, 3, 3, 3)
	w.scalers = map[string]*autoscaler{"c2": {asks: 5}}
	gs := w.settle()
	if gs.Spec.Record != nil || gs.Status.Shift.Step != "Done" {
		t.Fatalf("what an autoscaler asks for is no move, and yet %+v", gs.Status.Shift)
	}
	w.ask("c2", v1alpha1.GoalDrain)
	w.decide([]string{"c2"}, 5, 0, 4)
	if gs = w.settle(); limitsOf(gs, "c2") != v1alpha1.AutoscalerKept || blockedBy(gs, shift.NoCapacity, "c2") == "" && blockedBy(gs, shift.NoCapacity, "c1") == "" {
		t.Errorf("nine carry what eleven did: %+v", gs.Status.Shift)
	}
	asked := w.now
	w.decide([]string{"c2"}, 6, 0, 5)
	gs = w.settle()
	if !doneSince(gs, "c2", v1alpha1.GoalDrain, asked) || limitsOf(gs, "c2") != v1alpha1.AutoscalerLowered || planned(gs)["c2"] != 0 {
		t.Fatalf("%+v, %v, %s", gs.Status.Shift, planned(gs), limitsOf(gs, "c2"))
	}
	w.decide([]string{"c2"}, 5, 0, 4)
	if gs = w.settle(); planned(gs)["c1"] != 5 || planned(gs)["c3"] != 4 {
		t.Errorf("what nobody asks for any more is kept: %v, %+v", planned(gs), gs.Status.Shift)
	}
	w.ask("c2", v1alpha1.GoalUndrain)
	asked = w.now
	w.decide(nil, 3, 3, 3)
	w.until(func(gs *v1alpha1.GlobalService) bool { return doneSince(gs, "c2", v1alpha1.GoalUndrain, asked) })
	w.ask("c2", "")
	gs = w.settle()
	if limitsOf(gs, "c2") != v1alpha1.AutoscalerKept || gs.Spec.Record != nil || gs.Status.Shift.Step != "Done" {
		t.Errorf("%s, %+v", limitsOf(gs, "c2"), gs.Status.Shift)
	}
	if d := cmp.Diff(map[string]int32{"c1": 3, "c2": 5, "c3": 3}, planned(gs)); d != "" {
		t.Errorf("not what stood before:\n%s", d)
	}
	if d := cmp.Diff(map[string]int32{"c1": 334, "c2": 333, "c3": 333}, weights(gs)); d != "" {
		t.Error(d)
	}
}

func TestAnAbortGivesLimitsBackWhereverTheDrainWas(t *testing.T) {
	for _, stop := range []string{"Split", "Fence", "ReplicasDown"} {
		t.Run(stop, func(t *testing.T) {
			w := newOwned(t, 3, 3, 3)
			w.scalers = map[string]*autoscaler{"c2": {asks: 3}}
			w.settle()
			n := len(w.service().Status.Steps)
			w.ask("c2", v1alpha1.GoalDrain)
			w.decide([]string{"c2"}, 5, 0, 4)
			w.until(func(gs *v1alpha1.GlobalService) bool { return slices.Contains(kinds(gs)[n:], stop) })
			w.ask("c2", v1alpha1.GoalAbort)
			asked := w.now
			w.until(func(gs *v1alpha1.GlobalService) bool { return doneSince(gs, "c2", v1alpha1.GoalAbort, asked) })
			if gs := w.service(); limitsOf(gs, "c2") != v1alpha1.AutoscalerKept || rowOf(w.binding(), "c2").Applied != 3 {
				t.Errorf("%s, %+v", limitsOf(gs, "c2"), rowOf(w.binding(), "c2"))
			}
		})
	}
}

// What was raised elsewhere for the drain stays as far as the autoscaler asks for fewer, until the abort is over; then it goes.
func TestAnAbortEndsThoughTheLoadHasFallen(t *testing.T) {
	w := newOwned(t, 3, 3, 3)
	w.scalers = map[string]*autoscaler{"c2": {asks: 3}}
	w.settle()
	n := len(w.service().Status.Steps)
	w.ask("c2", v1alpha1.GoalDrain)
	w.decide([]string{"c2"}, 5, 0, 4)
	w.until(func(gs *v1alpha1.GlobalService) bool { return slices.Contains(kinds(gs)[n:], "ReplicasUp") })
	w.scalers["c2"].asks = 1
	w.members()
	w.ask("c2", v1alpha1.GoalAbort)
	asked := w.now
	w.until(func(gs *v1alpha1.GlobalService) bool { return doneSince(gs, "c2", v1alpha1.GoalAbort, asked) })
	w.ask("c2", "")
	w.decide(nil, 3, 3, 3)
	gs := w.settle()
	if gs.Spec.Record != nil || gs.Status.Shift.Step != "Done" || planned(gs)["c1"] != 3 || planned(gs)["c3"] != 3 {
		t.Errorf("planned %v, %+v", planned(gs), gs.Status.Shift)
	}
}

func TestAnAutoscalerThatAsksForTooFewElsewhereIsNamedWithTheNumber(t *testing.T) {
	w := newOwned(t, 3, 3)
	w.scalers = map[string]*autoscaler{"c1": {asks: 3}, "c2": {asks: 3}}
	w.settle()
	w.ask("c2", v1alpha1.GoalDrain)
	asked := w.now
	w.decide([]string{"c2"}, 6, 0)
	gs := w.settle()
	if got := blockedBy(gs, shift.AutoscalerOwns, "c1"); !strings.Contains(got, "raise its minReplicas there to 6") || !strings.Contains(got, "HorizontalPodAutoscaler echo") {
		t.Errorf("blocked %+v", gs.Status.Shift.Blocked)
	}
	if weights(gs)["c2"] != 500 {
		t.Errorf("weights %v", weights(gs))
	}
	w.scalers["c1"].asks = 6
	if gs = w.settle(); !doneSince(gs, "c2", v1alpha1.GoalDrain, asked) {
		t.Errorf("%+v", gs.Status.Shift)
	}
}

func TestAnAutoscalerThatAnOperatorKeepsIsNamed(t *testing.T) {
	w := newOwned(t, 3, 3)
	w.scalers = map[string]*autoscaler{"c2": {asks: 3, operated: true}}
	w.settle()
	w.ask("c2", v1alpha1.GoalDrain)
	w.decide([]string{"c2"}, 6, 0)
	gs := w.settle()
	if got := blockedBy(gs, shift.AutoscalerOwns, "c2"); !strings.Contains(got, "ScaledObject echo") || limitsOf(gs, "c2") != v1alpha1.AutoscalerKept {
		t.Errorf("blocked %+v", gs.Status.Shift.Blocked)
	}
}

func TestAMoveLeavesAnAutoscaledClusterAlone(t *testing.T) {
	for name, to := range map[string][3]int32{"fewer": {2, 2, 2}, "more": {5, 5, 5}, "none there": {6, 0, 3}} {
		t.Run(name, func(t *testing.T) {
			w := newOwned(t, 3, 3, 3)
			w.scalers = map[string]*autoscaler{"c2": {asks: 4}}
			w.settle()
			w.decide(nil, to[:]...)
			gs := w.settle()
			if gs.Spec.Record != nil || gs.Status.Shift.Step != "Done" || limitsOf(gs, "c2") != v1alpha1.AutoscalerKept || rowOf(w.binding(), "c2").Applied != 4 {
				t.Errorf("%+v, %s, %+v", gs.Status.Shift, limitsOf(gs, "c2"), rowOf(w.binding(), "c2"))
			}
			if planned(gs)["c1"] != to[0] || planned(gs)["c3"] != to[2] || weights(gs)["c2"] == 0 {
				t.Errorf("planned %v, weights %v", planned(gs), weights(gs))
			}
			n := len(gs.Status.Steps)
			w.scalers["c2"].asks = 3
			if gs = w.settle(); len(gs.Status.Steps) != n && to[1] > 0 {
				t.Errorf("an autoscaler at work made steps: %v", kinds(gs)[n:])
			}
		})
	}
}

func TestAHubThatIsKilledAtAnyStepLowersAndGivesBack(t *testing.T) {
	run := func(w *ownedWorld) {
		w.scalers = map[string]*autoscaler{"c2": {asks: 4}}
		w.settle()
		w.ask("c2", v1alpha1.GoalDrain)
		w.decide([]string{"c2"}, 6, 0, 4)
		w.until(func(gs *v1alpha1.GlobalService) bool { return doneSince(gs, "c2", v1alpha1.GoalDrain, time.Time{}) })
		if got := limitsOf(w.service(), "c2"); got != v1alpha1.AutoscalerLowered {
			w.Errorf("drained, limits are %s", got)
		}
		w.ask("c2", v1alpha1.GoalUndrain)
		w.decide(nil, 3, 3, 4)
		asked := w.now
		w.until(func(gs *v1alpha1.GlobalService) bool { return doneSince(gs, "c2", v1alpha1.GoalUndrain, asked) })
		w.ask("c2", "")
		if gs := w.settle(); limitsOf(gs, "c2") != v1alpha1.AutoscalerKept || gs.Spec.Record != nil {
			w.Errorf("undrained, limits are %s, %+v", limitsOf(gs, "c2"), gs.Status.Shift)
		}
	}
	whole := newOwned(t, 3, 3, 3)
	writes := 0
	whole.onPlan = func() error { writes++; return nil }
	run(whole)
	for k := range writes {
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
		run(w)
	}
}

func TestWhatAnAutoscalerDoesIsToldApart(t *testing.T) {
	kept := &v1alpha1.GlobalService{}
	kept.Spec.Clusters = []v1alpha1.GlobalServiceCluster{{Name: "c1", Autoscaler: v1alpha1.AutoscalerKept}}
	drains := &v1alpha1.GlobalService{}
	drains.Spec.Clusters = []v1alpha1.GlobalServiceCluster{{Name: "c1", Autoscaler: v1alpha1.AutoscalerLowered}}
	at := func(state v1alpha1.AutoscalerState) *v1alpha1.MemberAutoscaler {
		return &v1alpha1.MemberAutoscaler{State: state}
	}
	for name, c := range map[string]struct {
		gs   *v1alpha1.GlobalService
		row  v1alpha1.MemberReplicas
		want shift.Scaler
	}{
		"there is none":               {kept, v1alpha1.MemberReplicas{Applied: 3}, shift.Unscaled},
		"it owns them":                {kept, v1alpha1.MemberReplicas{Applied: 3, Autoscaler: at(v1alpha1.AutoscalerOwns)}, shift.Autoscaled},
		"it came back from none":      {kept, v1alpha1.MemberReplicas{Applied: 0, Autoscaler: at(v1alpha1.AutoscalerOwns)}, shift.Operated},
		"it is off":                   {kept, v1alpha1.MemberReplicas{Autoscaler: at(v1alpha1.AutoscalerOff)}, shift.Unscaled},
		"its limits come back":        {kept, v1alpha1.MemberReplicas{Autoscaler: at(v1alpha1.AutoscalerHeld)}, shift.Unscaled},
		"a drain takes them":          {drains, v1alpha1.MemberReplicas{Applied: 3, Autoscaler: at(v1alpha1.AutoscalerOwns)}, shift.Lowered},
		"a drain has taken them":      {drains, v1alpha1.MemberReplicas{Autoscaler: at(v1alpha1.AutoscalerHeld)}, shift.Lowered},
		"it was removed in the drain": {drains, v1alpha1.MemberReplicas{}, shift.Unscaled},
		"an operator keeps it":        {drains, v1alpha1.MemberReplicas{Autoscaler: at(v1alpha1.AutoscalerOperated)}, shift.Operated},
		"an older hub saw it":         {kept, v1alpha1.MemberReplicas{Applied: 3, MemberCopy: v1alpha1.MemberCopy{Reason: v1alpha1.ReasonHPA}}, shift.Operated},
	} {
		c.row.Name = "c1"
		if got := scalerOf(c.gs, c.row); got != c.want {
			t.Errorf("%s: got %s", name, got)
		}
	}
}
