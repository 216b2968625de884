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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/tracing"
	"github.com/weir-io/weir/mesh/shift"
)

func three() *v1alpha1.GlobalService {
	return service(seen("c1", 3, 3), seen("c2", 3, 3), seen("c3", 3, 3))
}

var errConflict = apierrors.NewConflict(schema.GroupResource{Resource: "globalservices"}, "echo", errors.New("modified"))

func TestAServiceAtRestFollowsItsReplicas(t *testing.T) {
	w := newWorld(t, three())
	gs := w.settle()
	if d := cmp.Diff(map[string]int32{"c1": 334, "c2": 333, "c3": 333}, weights(gs)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"Rules", "Split"}, kinds(gs)); d != "" {
		t.Error(d)
	}
	if !meta.IsStatusConditionTrue(gs.Status.Conditions, v1alpha1.ConditionTrafficShifted) || gs.Spec.Record != nil {
		t.Errorf("got %+v", gs)
	}
	plans := len(w.planned)
	w.now = w.now.Add(time.Hour)
	if result, err := w.step(); err != nil || result.RequeueAfter != 0 {
		t.Errorf("at rest it looks again after %s, %v", result.RequeueAfter, err)
	}
	if len(w.planned) != plans {
		t.Error("at rest a plan was written")
	}
}

func TestADrainGoesTheWholeWayAndBack(t *testing.T) {
	w := newWorld(t, three())
	w.settle()
	w.ask("c2", v1alpha1.GoalDrain)
	asked := w.now
	gs := w.settle()
	if d := cmp.Diff(map[string]int32{"c1": 500, "c2": 0, "c3": 500}, weights(gs)); d != "" {
		t.Error(d)
	}
	if p := gs.Spec.Clusters[1]; p.FencedPods != 3 || p.NewPods != v1alpha1.PodsFenced || !doneSince(gs, "c2", v1alpha1.GoalDrain, asked) {
		t.Errorf("c2 is %+v after %v", p, kinds(gs))
	}
	if gs.Spec.Record == nil || len(gs.Spec.Record.Before) != 3 || gs.Spec.Record.Before[1].Weight != 333 {
		t.Errorf("the way back: %+v", gs.Spec.Record)
	}
	w.ask("c2", v1alpha1.GoalUndrain)
	asked = w.now
	for range 40 {
		if doneSince(w.service(), "c2", v1alpha1.GoalUndrain, asked) {
			break
		}
		if _, err := w.step(); err != nil {
			t.Fatal(err)
		}
		w.carryOut()
	}
	w.ask("c2", "")
	gs = w.settle()
	if d := cmp.Diff(map[string]int32{"c1": 334, "c2": 333, "c3": 333}, weights(gs)); d != "" {
		t.Error(d)
	}
	if p := gs.Spec.Clusters[1]; p.FencedPods != 0 || p.NewPods != v1alpha1.PodsOpen || !doneSince(gs, "c2", v1alpha1.GoalUndrain, asked) || gs.Spec.Record != nil {
		t.Errorf("c2 is %+v, record %+v, after %v", p, gs.Spec.Record, kinds(gs))
	}
}

func TestWhatStoodIsWrittenDownBeforeTheFirstStep(t *testing.T) {
	w := newWorld(t, three())
	w.settle()
	w.ask("c2", v1alpha1.GoalDrain)
	w.planned = nil
	w.settle()
	first := w.planned[0]
	if first.Record == nil || first.Record.Demand != 6 || first.Clusters[1].Weight != 333 || first.Generation != 2 {
		t.Fatalf("the first plan of the move is %+v", first)
	}
	for i, p := range w.planned {
		if d := cmp.Diff(first.Record, p.Record); d != "" {
			t.Errorf("plan %d has another way back:\n%s", i, d)
		}
	}
}

func TestAStepIsOnRecordBeforeItIsPlanned(t *testing.T) {
	w := newWorld(t, three())
	w.settle()
	w.ask("c2", v1alpha1.GoalDrain)
	w.settle()
	var before v1alpha1.GlobalServiceSpec
	steps := 0
	for i, p := range w.planned {
		if p.Generation != before.Generation || p.FenceGeneration != before.FenceGeneration {
			steps++
			if last := w.recorded[i]; last.Generation != p.Generation || last.FenceGeneration != p.FenceGeneration {
				t.Errorf("plan %d is of generation %d, fence %d; on record was %+v", i, p.Generation, p.FenceGeneration, last)
			}
		}
		before = p
	}
	if steps < 5 {
		t.Errorf("%d steps only", steps)
	}
}

func TestAPlanThatMetAConflictIsMadeAgainAndItsStepIsRecordedOnce(t *testing.T) {
	for name, failure := range map[string]error{"conflict": errConflict, "no answer": errors.New("timeout")} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, three())
			w.settle()
			w.ask("c2", v1alpha1.GoalDrain)
			failing := true
			w.onPlan = func() error {
				failing = !failing
				if failing {
					return nil
				}
				return failure
			}
			for range 60 {
				_, err := w.step()
				if apierrors.IsConflict(failure) && err != nil {
					t.Fatalf("a conflict is an error: %v", err)
				}
				w.carryOut()
				if doneSince(w.service(), "c2", v1alpha1.GoalDrain, time.Time{}) {
					break
				}
			}
			gs := w.service()
			if !doneSince(gs, "c2", v1alpha1.GoalDrain, time.Time{}) {
				t.Fatalf("the drain is not done: %v", kinds(gs))
			}
			seen := map[string]int{}
			for _, s := range gs.Status.Steps {
				key := strings.Join([]string{s.Kind, s.Cluster, time.Duration(s.Generation).String(), time.Duration(s.FenceGeneration).String()}, " ")
				if seen[key]++; seen[key] > 1 {
					t.Errorf("step %s is on record twice", key)
				}
			}
		})
	}
}

func TestAPlanIsOnlyMadeOnTopOfOneThatWasCarriedOut(t *testing.T) {
	cases := map[string]func(*v1alpha1.GlobalService){
		"the last plan is not observed": func(gs *v1alpha1.GlobalService) { gs.Generation = 4; gs.Status.ObservedGeneration = 3 },
		"no cluster is known":           func(gs *v1alpha1.GlobalService) { gs.Status.Clusters = nil },
		"its policy is not served": func(gs *v1alpha1.GlobalService) {
			gs.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: "NotSupported", LastTransitionTime: metav1.NewTime(now)}}
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			gs := three()
			change(gs)
			w := newWorld(t, gs, drainOf("c2", v1alpha1.GoalDrain, time.Minute))
			if _, err := w.step(); err != nil {
				t.Fatal(err)
			}
			if got := w.service(); len(w.planned) > 0 || len(got.Status.Steps) > 0 {
				t.Errorf("planned %+v, recorded %v", w.planned, kinds(got))
			}
		})
	}
}

func TestAServiceThatIsHeldFromDeletionIsPlannedOn(t *testing.T) {
	gs, at := three(), metav1.NewTime(now)
	gs.DeletionTimestamp, gs.Finalizers = &at, []string{"weir.io/release"}
	if !ready(gs) {
		t.Error("its drain would never end")
	}
}

func TestAServiceThatIsGoneIsNoError(t *testing.T) {
	gs := three()
	w := newWorld(t, gs)
	if err := w.hub.Delete(t.Context(), gs); err != nil {
		t.Fatal(err)
	}
	if _, err := w.step(); err != nil {
		t.Error(err)
	}
}

// The user turns a finished drain round and back before anything moved: the goal is met as it stands, and must be told
// anew, since whoever asked waits for a record that is younger than the question.
func TestAGoalThatIsMetAlreadyIsToldAnewToWhoAsksAnew(t *testing.T) {
	w := newWorld(t, three())
	w.settle()
	w.ask("c2", v1alpha1.GoalDrain)
	w.settle()
	w.ask("c2", v1alpha1.GoalDrain)
	again := w.now
	gs := w.settle()
	if !doneSince(gs, "c2", v1alpha1.GoalDrain, again) {
		t.Errorf("asked at %s; on record: %+v", again, gs.Status.Steps[len(gs.Status.Steps)-1])
	}
	if n := len(gs.Status.Steps); w.settle() == nil || len(w.service().Status.Steps) != n {
		t.Error("it is told again and again")
	}
}

// A second ClusterDrain for the same cluster is refused and has no goal; it must not hide the goal of the first.
func TestASecondDrainOfTheClusterDoesNotHideTheEndOfTheFirst(t *testing.T) {
	second := drainOf("c2", "", 0)
	second.Name = "zz"
	w := newWorld(t, three(), second)
	w.settle()
	w.ask("c2", v1alpha1.GoalDrain)
	if gs := w.settle(); !doneSince(gs, "c2", v1alpha1.GoalDrain, w.now.Add(-time.Hour)) {
		t.Errorf("the end is not on record: %v", kinds(gs))
	}
}

func TestAForeignRuleStopsTheMoveAndIsNamed(t *testing.T) {
	w := newWorld(t, three(), drainOf("c2", v1alpha1.GoalDrain, time.Minute))
	gs := w.service()
	gs.Status.Foreign = []string{"c1: VirtualService team/echo " + strings.Repeat("x", 1500)}
	gs.Status.Foreign[0] = gs.Status.Foreign[0][:1024]
	if err := w.hub.Status().Update(t.Context(), gs); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := w.step(); err != nil {
			t.Fatal(err)
		}
	}
	gs = w.service()
	if gs.Spec.Phase != "" || len(gs.Status.Steps) > 0 {
		t.Errorf("it went on: %+v", gs.Spec)
	}
	c := meta.FindStatusCondition(gs.Status.Conditions, v1alpha1.ConditionTrafficShifted)
	if c == nil || c.Reason != "Foreign" || !strings.Contains(c.Message, "VirtualService team/echo") {
		t.Errorf("condition %+v", c)
	}
	if b := gs.Status.Shift.Blocked; len(b) == 0 || b[0].Wakes != "ForeignGone" || !strings.Contains(b[0].Message, "team/echo") {
		t.Errorf("blocked %+v", b)
	}
}

func TestTheOldestStepsAreForgottenFirst(t *testing.T) {
	gs := three()
	for i := range v1alpha1.MaxSteps {
		gs.Status.Steps = append(gs.Status.Steps, v1alpha1.StepRecord{Kind: "Renew", Generation: int64(i + 1), StartedAt: metav1.NewMicroTime(now)})
	}
	w := newWorld(t, gs)
	if _, err := w.step(); err != nil {
		t.Fatal(err)
	}
	got := w.service().Status.Steps
	if len(got) != v1alpha1.MaxSteps || got[0].Generation != 2 || got[len(got)-1].Kind != "Rules" {
		t.Errorf("%d steps, from %d to %s", len(got), got[0].Generation, got[len(got)-1].Kind)
	}
}

func TestAStepKeepsAFewOfTheProxiesItRestedOn(t *testing.T) {
	p := v1alpha1.ProofStatus{Level: v1alpha1.ProofProven}
	for range 40 {
		i := v1alpha1.IstiodProof{Name: "c1/istiod", ProxyCount: 90}
		for range 50 {
			i.Proxies = append(i.Proxies, v1alpha1.ProxyProof{Name: "web.demo"})
		}
		p.Istiods = append(p.Istiods, i)
	}
	got := remembered(p, shift.Proven)
	if len(got.Istiods) != v1alpha1.MaxRecordedIstiods || len(got.Istiods[0].Proxies) != v1alpha1.MaxRecordedProxies || got.Istiods[0].ProxyCount != 90 {
		t.Errorf("%d istiods with %d proxies", len(got.Istiods), len(got.Istiods[0].Proxies))
	}
	if len(p.Istiods[0].Proxies) != 50 {
		t.Error("the proof itself was cut")
	}
}

func TestEveryStepOfADrainCarriesItsTraceAndItsProofs(t *testing.T) {
	w := newWorld(t, three())
	w.settle()
	w.ask("c2", v1alpha1.GoalDrain)
	gs := w.settle()
	d := drainOf("c2", "", 0)
	if err := w.hub.Get(t.Context(), client.ObjectKeyFromObject(&d), &d); err != nil {
		t.Fatal(err)
	}
	for _, s := range gs.Status.Steps[2:] {
		if s.TraceID != tracing.ID(&d) || s.Weights == nil || s.Fence == nil || s.Message == "" {
			t.Errorf("step %s: trace %q of %q, %+v", s.Kind, s.TraceID, tracing.ID(&d), s)
		}
	}
	done := gs.Status.Steps[len(gs.Status.Steps)-1]
	if done.Kind != "Done" || done.Weights.Level != v1alpha1.ProofProven || done.Fence.Level != v1alpha1.ProofProven {
		t.Errorf("the end: %+v", done)
	}
	close(w.recorder.Events)
	var told []string
	noted := 0
	for e := range w.recorder.Events {
		if reason := strings.Fields(e)[1]; reason != "HeadroomLost" {
			told = append(told, reason)
		} else if noted++; noted > 1 {
			t.Errorf("a notice is told again: %s", e)
		}
	}
	if !slices.Equal(told, kinds(gs)) {
		t.Errorf("events %v, records %v", told, kinds(gs))
	}
}

func TestADrainOfAnotherClusterConcernsNoService(t *testing.T) {
	w := newWorld(t, three(), drainOf("c9", v1alpha1.GoalDrain, time.Minute))
	if gs := w.settle(); gs.Spec.Record != nil {
		t.Errorf("a record was opened: %+v", gs.Spec.Record)
	}
	if requests := w.r.servicesOf(t.Context(), nil); len(requests) != 1 || requests[0].NamespacedName != serviceKey {
		t.Errorf("a drain wakes %v", requests)
	}
}

// A Cluster object is deleted while the rules still name it: nothing is there any more. Whatever is planned next, the weights of a plan must sum to
// the whole: the API server refuses any other plan, and with it every step out of there.
func TestThePlanIsWholeAlthoughAClusterVanishes(t *testing.T) {
	for name, lease := range map[string]v1alpha1.LeaseState{"proofs stand": v1alpha1.LeaseHeld, "proofs lapsed": v1alpha1.LeaseLapsed} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, three())
			gs := w.settle()
			c2 := &gs.Status.Clusters[1]
			c2.Replicas, c2.Ready, c2.Sight = 0, 0, v1alpha1.SightBlind
			gs.Status.Weights.Lease, gs.Status.Fence.Lease = lease, lease
			if err := w.hub.Status().Update(t.Context(), gs); err != nil {
				t.Fatal(err)
			}
			w.planned = nil
			if _, err := w.step(); err != nil {
				t.Fatal(err)
			}
			gs = w.settle()
			for i, p := range w.planned {
				var sum int32
				for _, c := range p.Clusters {
					sum += c.Weight
				}
				if sum != 1000 {
					t.Errorf("plan %d sums to %d: %+v", i, sum, p.Clusters)
				}
			}
			if d := cmp.Diff(map[string]int32{"c1": 500, "c2": 0, "c3": 500}, weights(gs)); d != "" {
				t.Errorf("in the end:\n%s", d)
			}
		})
	}
}
