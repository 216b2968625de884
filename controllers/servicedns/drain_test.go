// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servicedns

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/shift"
)

// drained is a world in which shifts are planned too, and carried out and proven at once.
type drained struct {
	*world

	shift *shift.Reconciler
	asked time.Time
}

func newDrain(t *testing.T, clusters ...string) *drained {
	t.Helper()
	gs := serviceOf("echo", &v1alpha1.NameWishes{Hostname: "shop.global.example.com"}, clusters...)
	gs.Spec = v1alpha1.GlobalServiceSpec{}
	d := &drained{world: newWorld(t, append(three(), gs)...)}
	d.hub = fleettest.Owners(t, d.hub)
	d.begin()
	for range 10 {
		d.step()
	}
	if got := kindsOf(d.get("echo")); !slices.Equal(got, []string{"Rules", "Split"}) || len(d.answers(own)) != len(clusters) {
		t.Fatalf("at rest: %v, answered with %v", got, d.answers(own))
	}
	return d
}

// begin begins another life of the hub.
func (d *drained) begin() {
	d.Helper()
	d.restart()
	d.shift = &shift.Reconciler{Client: d.hub, Recorder: events.NewFakeRecorder(1000), Now: func() time.Time { return d.now }}
}

// step lets a second pass: a client asks, the shift plans, the rest of weir carries it out, and the names follow.
func (d *drained) step() {
	d.Helper()
	d.now = d.now.Add(time.Second)
	if d.server.table != nil {
		for _, c := range []string{"c1", "c2", "c3"} {
			d.server.ask(own, c)
		}
	}
	if _, err := d.shift.Reconcile(context.Background(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "demo", Name: "echo"}}); err != nil {
		d.Fatal(err)
	}
	d.carryOut()
	if _, err := d.look(); err != nil {
		d.Fatal(err)
	}
	d.judge()
}

// carryOut does with the plan what the rest of weir and the proxies do.
func (d *drained) carryOut() {
	d.Helper()
	d.change("echo", func(gs *v1alpha1.GlobalService) {
		at := metav1.NewTime(d.now)
		proven := v1alpha1.ProofStatus{Level: v1alpha1.ProofProven, Lease: v1alpha1.LeaseHeld, SeenAt: &at, Generation: gs.Spec.Generation}
		gs.Status.Rules, gs.Status.Weights, gs.Status.Fence = proven, proven, proven
		gs.Status.Fence.Generation = gs.Spec.FenceGeneration
		gs.Status.ObservedGeneration = gs.Generation
		var idle int64
		for i := range gs.Status.Clusters {
			c := &gs.Status.Clusters[i]
			c.Quiet, c.InFlight = v1alpha1.QuietQuiet, &idle
			p := planOf(gs, c.Name)
			c.Fenced = min(p.FencedPods, c.Ready)
			c.Weight = v1alpha1.WeightStatus{Wanted: p.Weight, Written: p.Weight, ProvenLow: p.Weight, ProvenHigh: p.Weight}
			if gs.Spec.Phase != v1alpha1.RulesWeights {
				c.Weight = v1alpha1.WeightStatus{ProvenHigh: 1000}
			}
		}
	})
}

// judge holds what is planned against what clients are answered, and may hold.
func (d *drained) judge() {
	d.Helper()
	gs := d.get("echo")
	for _, p := range gs.Spec.Clusters {
		if p.NewPods == v1alpha1.PodsFenced && slices.Contains(d.answers(own), p.Name) {
			d.Errorf("%s is fenced, and answered", p.Name)
		}
	}
	if d.doneAt(v1alpha1.GoalDrain) != nil {
		for target, until := range d.server.given {
			if target.Cluster == "c2" && until.After(d.now) {
				d.Errorf("the drain is done, and %s is in caches until %v", target.Name, until)
			}
		}
	}
}

// ask sets the goal of c2's drain from now on; none: there is no drain any more.
func (d *drained) ask(goal v1alpha1.GoalKind) {
	d.Helper()
	d.now = d.now.Add(time.Second)
	d.asked = d.now
	drain := &v1alpha1.ClusterDrain{ObjectMeta: metav1.ObjectMeta{Name: "c2"}}
	if err := d.hub.Get(context.Background(), client.ObjectKeyFromObject(drain), drain); err != nil {
		drain.Spec.ClusterName = "c2"
		if err := d.hub.Create(context.Background(), drain); err != nil {
			d.Fatal(err)
		}
	}
	since := metav1.NewTime(d.now)
	drain.Status.Goal, drain.Status.StartedAt = goal, &since
	if err := d.hub.Status().Update(context.Background(), drain); err != nil {
		d.Fatal(err)
	}
}

// doneAt finds the record that the goal was met since it was set.
func (d *drained) doneAt(goal v1alpha1.GoalKind) *v1alpha1.StepRecord {
	d.Helper()
	for _, s := range d.get("echo").Status.Steps {
		if s.Kind == "Done" && s.Goal == goal && !s.StartedAt.Time.Before(d.asked) {
			return &s
		}
	}
	return nil
}

// until steps until the goal is met.
func (d *drained) until(goal v1alpha1.GoalKind) {
	d.Helper()
	for range 60 {
		if d.doneAt(goal) != nil {
			return
		}
		d.step()
	}
	d.Fatalf("after a minute it is not done: %v, %+v, %+v", kindsOf(d.get("echo")), d.get("echo").Status.Shift, d.get("echo").Status.Names)
}

func kindsOf(gs *v1alpha1.GlobalService) []string {
	var out []string
	for _, s := range gs.Status.Steps {
		out = append(out, s.Kind)
	}
	return out
}

func TestADrainLeavesTheNamesFirstAndComesBackToThemBeforeItsWeight(t *testing.T) {
	d := newDrain(t, "c1", "c2", "c3")
	d.ask(v1alpha1.GoalDrain)
	d.until(v1alpha1.GoalDrain)
	if diff := cmp.Diff([]string{"DNSOut", "Split", "Fence", "Done"}, slices.Compact(kindsOf(d.get("echo"))[2:])); diff != "" {
		t.Error(diff)
	}
	if got := joined(d.answers(own)); got != "c1 c3" || d.standing("echo", "c2") != "Expired" {
		t.Errorf("answered with %s, c2 is %s", got, d.standing("echo", "c2"))
	}
	steps := len(d.get("echo").Status.Steps)
	d.ask(v1alpha1.GoalUndrain)
	d.until(v1alpha1.GoalUndrain)
	if diff := cmp.Diff([]string{"Unfence", "DNSIn", "Split", "Done", "Release"}, slices.Compact(kindsOf(d.get("echo"))[steps:])); diff != "" {
		t.Error(diff)
	}
	if got := joined(d.answers(own)); got != "c1 c2 c3" || d.standing("echo", "c2") != "Named" {
		t.Errorf("answered with %s, c2 is %s", got, d.standing("echo", "c2"))
	}
}

func TestADrainWhoseHubEndsAtAnyStepStillWaitsForCaches(t *testing.T) {
	for kill := range 12 {
		t.Run(fmt.Sprintf("after %d seconds", kill), func(t *testing.T) {
			d := newDrain(t, "c1", "c2", "c3")
			d.ask(v1alpha1.GoalDrain)
			for range kill {
				d.step()
			}
			given := d.server.given
			d.begin()
			d.server.given = nil // it is forgotten with the process; caches keep it
			d.until(v1alpha1.GoalDrain)
			for target, until := range given {
				if end := d.doneAt(v1alpha1.GoalDrain).StartedAt.Time; target.Cluster == "c2" && until.After(end) {
					t.Errorf("done at %v, and caches hold %s until %v", end, target.Name, until)
				}
			}
			d.ask(v1alpha1.GoalUndrain)
			d.until(v1alpha1.GoalUndrain)
		})
	}
}

func TestAnAbortGivesTheNamesBack(t *testing.T) {
	d := newDrain(t, "c1", "c2", "c3")
	d.ask(v1alpha1.GoalDrain)
	for !slices.Contains(kindsOf(d.get("echo")), "DNSOut") {
		d.step()
	}
	d.ask(v1alpha1.GoalAbort)
	d.until(v1alpha1.GoalAbort)
	if got := joined(d.answers(own)); got != "c1 c2 c3" || !slices.Contains(kindsOf(d.get("echo")), "DNSIn") {
		t.Errorf("answered with %s after %v", got, kindsOf(d.get("echo")))
	}
}

func TestTheLastMemberThatANameLeadsToIsNotTakenOutOfIt(t *testing.T) {
	d := newDrain(t, "c1", "c2")
	var c v1alpha1.Cluster
	if err := d.hub.Get(context.Background(), client.ObjectKey{Name: "c1"}, &c); err != nil {
		t.Fatal(err)
	}
	c.Status.IngressAddresses = nil
	if err := d.hub.Status().Update(context.Background(), &c); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		d.step()
	}
	d.ask(v1alpha1.GoalDrain)
	for range 20 {
		d.step()
	}
	gs := d.get("echo")
	if b := gs.Status.Shift.Blocked; len(b) == 0 || b[0].Code != "LastCluster" || joined(d.answers(own)) != "c2" {
		t.Errorf("answered with %v; %+v", d.answers(own), gs.Status.Shift)
	}
	c.Spec.IngressAddresses = []string{"198.51.100.1"}
	if err := d.hub.Update(context.Background(), &c); err != nil {
		t.Fatal(err)
	}
	d.until(v1alpha1.GoalDrain)
	if got := joined(d.answers(own)); got != "c1" {
		t.Errorf("answered with %s", got)
	}
}
