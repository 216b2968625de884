// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
)

// pair is a world with two services, echo and api, on the same pods.
type pair struct{ *world }

func newPair(t *testing.T) *pair {
	t.Helper()
	gs, api := three(), three()
	api.Name = "api"
	for i := range gs.Status.Clusters {
		gs.Status.Clusters[i].SharedWith, api.Status.Clusters[i].SharedWith = []string{"api"}, []string{"echo"}
	}
	p := &pair{newWorld(t, gs)}
	status := api.Status
	if err := p.hub.Create(t.Context(), api); err != nil {
		t.Fatal(err)
	}
	api.Status = status
	if err := p.hub.Status().Update(t.Context(), api); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pair) get(name string) *v1alpha1.GlobalService {
	p.Helper()
	var gs v1alpha1.GlobalService
	if err := p.hub.Get(p.Context(), client.ObjectKey{Namespace: "demo", Name: name}, &gs); err != nil {
		p.Fatal(err)
	}
	return &gs
}

// round lets a second pass, in which these services are looked at, and their plans are carried out on pods that are the same:
// in a drain who fences first does, else who needs a pod keeps it.
func (p *pair) round(drained bool, names ...string) {
	p.Helper()
	p.now = p.now.Add(time.Second)
	for _, name := range names {
		if _, err := p.r.Reconcile(p.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "demo", Name: name}}); err != nil {
			p.Fatal(err)
		}
	}
	fenced := func(cluster string) int32 {
		a, b := fencedOf(p.get("echo"), cluster), fencedOf(p.get("api"), cluster)
		if drained {
			return max(a, b)
		}
		return min(a, b)
	}
	for _, name := range []string{"echo", "api"} {
		p.carry(p.get(name))
		gs := p.get(name)
		for i := range gs.Status.Clusters {
			c := &gs.Status.Clusters[i]
			c.Fenced = fenced(c.Name)
			if c.Fenced > 0 && drained && c.Weight.ProvenHigh > 0 {
				p.Fatalf("%d pods of %s are fenced while proxies may send %d of %s there", c.Fenced, c.Name, c.Weight.ProvenHigh, name)
			}
		}
		if err := p.hub.Status().Update(p.Context(), gs, client.FieldOwner("world")); err != nil {
			p.Fatal(err)
		}
	}
}

func fencedOf(gs *v1alpha1.GlobalService, cluster string) int32 {
	for _, c := range gs.Spec.Clusters {
		if c.Name == cluster {
			return c.FencedPods
		}
	}
	return 0
}

func TestServicesOnTheSamePodsLeaveTogetherAndComeBack(t *testing.T) {
	p := newPair(t)
	for range 5 {
		p.round(false, "echo", "api")
	}
	p.ask("c2", v1alpha1.GoalDrain)
	for range 12 { // the other one has not begun
		p.round(true, "echo")
	}
	gs := p.get("echo")
	b := gs.Status.Shift.Blocked
	if len(b) != 1 || b[0].Code != "SharedPods" || b[0].Cluster != "c2" || b[0].Subject != "demo/api" || b[0].Wakes != "SharerReady" || !strings.Contains(b[0].Message, "demo/api") {
		t.Fatalf("it waits for %+v", b)
	}
	if c := meta.FindStatusCondition(gs.Status.Conditions, v1alpha1.ConditionTrafficShifted); c.Status != metav1.ConditionFalse || c.Reason != "SharedPods" {
		t.Errorf("condition %+v", c)
	}
	if slices.Contains(kinds(gs), "Fence") || weights(gs)["c2"] != 0 {
		t.Errorf("steps %v, weights %v", kinds(gs), weights(gs))
	}
	for range 12 {
		p.round(true, "echo", "api")
	}
	for _, name := range []string{"echo", "api"} {
		if gs := p.get(name); !doneSince(gs, "c2", v1alpha1.GoalDrain, time.Time{}) || fencedOf(gs, "c2") != 3 {
			t.Errorf("%s did not leave: %v, %+v", name, kinds(gs), gs.Status.Shift)
		}
	}
	p.ask("c2", v1alpha1.GoalUndrain)
	for range 12 {
		p.round(false, "echo", "api")
	}
	for _, name := range []string{"echo", "api"} {
		if gs := p.get(name); !doneSince(gs, "c2", v1alpha1.GoalUndrain, time.Time{}) || fencedOf(gs, "c2") != 0 || weights(gs)["c2"] != 333 {
			t.Errorf("%s did not come back: %v, %+v", name, kinds(gs), gs.Status.Shift)
		}
	}
}

func TestPodsOfAServiceThatCannotLeaveAreNotFencedForAnother(t *testing.T) {
	cases := map[string]func(*v1alpha1.GlobalService){
		"nothing is written for it": func(gs *v1alpha1.GlobalService) {
			meta.SetStatusCondition(&gs.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonBudgetExceeded})
		},
		"it is nowhere else": func(gs *v1alpha1.GlobalService) { gs.Status.Clusters = gs.Status.Clusters[1:2] },
		"somebody else's rule decides over it": func(gs *v1alpha1.GlobalService) {
			gs.Status.Foreign = []string{"c1: VirtualService team/api"}
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			api := p.get("api")
			change(api)
			if err := p.hub.Status().Update(t.Context(), api, client.FieldOwner("world")); err != nil {
				t.Fatal(err)
			}
			for range 5 {
				p.round(false, "echo", "api")
			}
			p.ask("c2", v1alpha1.GoalDrain)
			for range 12 {
				p.round(true, "echo", "api")
			}
			gs := p.get("echo")
			if fencedOf(gs, "c2") > 0 || len(gs.Status.Shift.Blocked) == 0 || gs.Status.Shift.Blocked[0].Code != "SharedPods" {
				t.Errorf("fenced %d, %+v", fencedOf(gs, "c2"), gs.Status.Shift)
			}
		})
	}
}

func TestAServiceThatTheHubDoesNotKnowHoldsTheFence(t *testing.T) {
	p := newPair(t)
	if err := p.hub.Delete(t.Context(), p.get("api")); err != nil {
		t.Fatal(err)
	}
	p.settle()
	p.ask("c2", v1alpha1.GoalDrain)
	if gs := p.settle(); slices.Contains(kinds(gs), "Fence") || gs.Status.Shift.Blocked[0].Code != "SharedPods" {
		t.Errorf("steps %v, %+v", kinds(gs), gs.Status.Shift)
	}
}
