// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/shift"
)

func TestNobodyGoesOnWithoutAProxyForWhomItIsToWaitForEver(t *testing.T) {
	patient := func(cluster string, goal v1alpha1.GoalKind, timeout time.Duration, finished bool) v1alpha1.ClusterDrain {
		d := drainOf(cluster, goal, time.Hour)
		if timeout > 0 {
			d.Spec.ProxyTimeout = &metav1.Duration{Duration: timeout}
		}
		if finished {
			d.Status.FinishedAt = ago(time.Minute)
		}
		return d
	}
	ends, waits := time.Second, time.Duration(0)
	cases := map[string]struct {
		drains []v1alpha1.ClusterDrain
		late   bool
	}{
		"one with a limit that has passed":      {[]v1alpha1.ClusterDrain{patient("c2", v1alpha1.GoalDrain, ends, false)}, true},
		"one with a limit that has not":         {[]v1alpha1.ClusterDrain{patient("c2", v1alpha1.GoalDrain, time.Hour, false)}, false},
		"one without a limit":                   {[]v1alpha1.ClusterDrain{patient("c2", v1alpha1.GoalDrain, waits, false)}, false},
		"beside it one in service, with limit":  {[]v1alpha1.ClusterDrain{patient("c1", "", ends, false), patient("c2", v1alpha1.GoalDrain, waits, false)}, false},
		"beside it one that ended, with limit":  {[]v1alpha1.ClusterDrain{patient("c1", v1alpha1.GoalDrain, ends, true), patient("c2", v1alpha1.GoalDrain, waits, false)}, false},
		"beside it one under way, with a limit": {[]v1alpha1.ClusterDrain{patient("c1", v1alpha1.GoalDrain, ends, false), patient("c2", v1alpha1.GoalAbort, waits, false)}, false},
		"with a limit, and one that ended":      {[]v1alpha1.ClusterDrain{patient("c1", v1alpha1.GoalDrain, waits, true), patient("c2", v1alpha1.GoalDrain, ends, false)}, true},
		"nobody moves":                          {nil, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			gs := three()
			gs.Status.Steps = []v1alpha1.StepRecord{{Kind: "Split", StartedAt: metav1.NewMicroTime(now.Add(-time.Minute))}}
			if got := waitedFor(gs, c.drains, now); got.late != c.late || !got.settled {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAProofFromTheFutureIsNotFresh(t *testing.T) {
	p := v1alpha1.ProofStatus{Level: v1alpha1.ProofProven, Generation: 1, Lease: v1alpha1.LeaseHeld}
	for age, want := range map[time.Duration]shift.Lease{0: shift.Fresh, -500 * time.Millisecond: shift.Fresh, -time.Hour: shift.Stale, time.Hour: shift.Stale} {
		p.SeenAt = ago(age)
		if got := proofOf(p, 1, true, waited{}, now); got.Lease != want {
			t.Errorf("seen %s ago: %s", age, got.Lease)
		}
	}
}

// The hub ends between the record of a step and its plan, and is away for longer than anybody is to wait.
func TestAWaitBeginsWhenTheStepIsPlannedAndNotWhenItWasRecorded(t *testing.T) {
	w := newWorld(t, three())
	w.settle()
	w.ask("c2", v1alpha1.GoalDrain)
	ends := 0
	w.onPlan = func() error {
		gs := w.service()
		if n := len(gs.Status.Steps); n == 0 || gs.Status.Steps[n-1].Goal != v1alpha1.GoalDrain || gs.Status.Steps[n-1].Generation == gs.Spec.Generation && gs.Status.Steps[n-1].FenceGeneration == gs.Spec.FenceGeneration {
			return nil
		}
		if w.now.Sub(gs.Status.Steps[len(gs.Status.Steps)-1].StartedAt.Time) > 0 {
			t.Errorf("%s is planned %s after its time on record", gs.Status.Steps[len(gs.Status.Steps)-1].Kind, w.now.Sub(gs.Status.Steps[len(gs.Status.Steps)-1].StartedAt.Time))
		}
		if ends++; ends%2 == 1 {
			return errors.New("killed")
		}
		return nil
	}
	for range 60 {
		if _, err := w.step(); err != nil {
			w.now = w.now.Add(time.Hour)
		}
		w.carryOut()
	}
	if gs := w.service(); ends < 6 || !doneSince(gs, "c2", v1alpha1.GoalDrain, now) {
		t.Errorf("%d ends of the hub, then %v", ends, kinds(gs))
	}
}

func TestThatAClusterIsDrainedIsNotForgottenWhileOthersMove(t *testing.T) {
	steps := []v1alpha1.StepRecord{{Kind: "Done", Cluster: "c3", Goal: v1alpha1.GoalUndrain}, {Kind: "Fence", Cluster: "c3"}, {Kind: "Done", Cluster: "c3", Goal: v1alpha1.GoalDrain}}
	for i := range 5 * v1alpha1.MaxSteps {
		steps = forget(append(steps, v1alpha1.StepRecord{Kind: []string{"Split", "Fence", "Done"}[i%3], Cluster: "c2", Message: fmt.Sprint(i)}))
	}
	if len(steps) != v1alpha1.MaxSteps {
		t.Fatalf("%d steps", len(steps))
	}
	if s := steps[0]; s.Cluster != "c3" || s.Kind != "Done" || s.Goal != v1alpha1.GoalDrain {
		t.Errorf("the oldest is %+v", s)
	}
	for i, s := range steps[1:] {
		if want := fmt.Sprint(5*v1alpha1.MaxSteps - v1alpha1.MaxSteps + 1 + i); s.Message != want {
			t.Fatalf("step %d is %+v, want %s", i+1, s, want)
		}
	}
	many := steps[:0:0]
	for i := range 2 * v1alpha1.MaxSteps {
		many = forget(append(many, v1alpha1.StepRecord{Kind: "Done", Cluster: fmt.Sprint("c", i)}))
	}
	if len(many) != v1alpha1.MaxSteps || many[0].Cluster != fmt.Sprint("c", v1alpha1.MaxSteps) {
		t.Errorf("%d records of as many clusters, from %+v on", len(many), many[0])
	}
}

func TestNothingIsPlannedWhileNothingIsWritten(t *testing.T) {
	for reason, plans := range map[string]bool{
		"NotSupported": false, "BadAnnotation": false, "BudgetExceeded": false, "NotRenderable": false, "NotWritten": true, "Steered": true,
	} {
		t.Run(reason, func(t *testing.T) {
			gs := three()
			status := metav1.ConditionFalse
			if reason == "Steered" {
				status = metav1.ConditionTrue
			}
			meta.SetStatusCondition(&gs.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: status, Reason: reason})
			w := newWorld(t, gs)
			if _, err := w.step(); err != nil {
				t.Fatal(err)
			}
			if got := len(w.planned) > 0; got != plans {
				t.Errorf("planned %+v", w.planned)
			}
		})
	}
}

func TestOneWaitIsSaidOnceHoweverManyHoldItUp(t *testing.T) {
	blocked := []shift.Blocked{
		{Code: shift.WeightsUnproven, Cluster: "c2", Subject: "prover"},
		{Code: shift.WeightsUnproven, Cluster: "c2", Subject: "prover stale"},
		{Code: shift.WeightsUnproven, Cluster: "c3", Subject: "prover"},
	}
	c := shiftedCondition(three(), shift.Step{Kind: shift.Wait}, blocked)
	if want := blocked[0].Sentence() + "; " + blocked[2].Sentence(); c.Message != want || c.Reason != "WeightsUnproven" {
		t.Errorf("%s: %s", c.Reason, c.Message)
	}
}

func TestOnlyTheNewestStepsNameWhoProvedThem(t *testing.T) {
	proof := func() *v1alpha1.ProofStatus {
		return &v1alpha1.ProofStatus{Level: v1alpha1.ProofProven, Generation: 7, Istiods: []v1alpha1.IstiodProof{{Name: "c1/istiod"}}}
	}
	var steps []v1alpha1.StepRecord
	for range v1alpha1.MaxSteps {
		steps = append(steps, v1alpha1.StepRecord{Kind: "Split", Weights: proof(), Fence: proof()})
	}
	oldest := steps[0].Weights
	for i, s := range thin(steps) {
		names := i >= v1alpha1.MaxSteps-v1alpha1.MaxNamedSteps
		for _, p := range []*v1alpha1.ProofStatus{s.Weights, s.Fence} {
			if p.Level != v1alpha1.ProofProven || p.Generation != 7 || (len(p.Istiods) > 0) != names {
				t.Errorf("step %d: %+v", i, p)
			}
		}
	}
	if len(oldest.Istiods) != 1 {
		t.Error("what a cache holds was changed")
	}
	if got := thin([]v1alpha1.StepRecord{{Kind: "Split"}}); len(got) != 1 || got[0].Weights != nil {
		t.Errorf("a step without proofs: %+v", got)
	}
}
