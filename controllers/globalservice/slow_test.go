// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/resview/pb"
)

func TestAnAbsurdCountOfOneMemberStaysWithinWhatAMoveTakes(t *testing.T) {
	m := memberOf("c2", nil)
	m.facts = &pb.ServiceFacts{Workloads: []*pb.WorkloadFacts{
		{Kind: "Deployment", Name: "a", Replicas: math.MaxInt32}, {Kind: "Deployment", Name: "b", Replicas: 1_000_000}, {Kind: "Deployment", Name: "c", Replicas: -5},
	}}
	c := v1alpha1.GlobalServiceClusterStatus{Name: "c2"}
	observe(&c, m, now)
	if c.Replicas != 1<<20 {
		t.Errorf("got %d", c.Replicas)
	}
}

func TestAMemberThatDoesNotEndItsOrderIsBrokenOffAndLeftAlone(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)})
	w.look()
	w.look()
	w.r.orderTime = 300 * time.Millisecond
	ends := make(chan struct{})
	t.Cleanup(func() { close(ends) })
	w.members["c2"].Fail(func(fleettest.Request) error {
		<-ends
		return nil
	})
	w.members["c2"].Requests()
	gs := w.plan(split(1, map[string]int32{"c1": 500, "c2": 500}))
	if w.stands("c1", "VirtualService") == nil {
		t.Error("c1 was held by c2")
	}
	if reason, message := ready(gs); reason != "False NotWritten" || !strings.HasPrefix(message, "c2: ") {
		t.Errorf("%s: %s", reason, message)
	}
	if n := len(w.members["c2"].Requests()); n != 1 {
		t.Errorf("c2 was asked %d times, once for each thing that it holds up", n)
	}
	if _, message := ready(w.look()); !strings.HasPrefix(message, "c2: not connected: ") || len(w.members["c2"].Requests()) > 0 {
		t.Errorf("it is asked again at once: %s", message)
	}
}

func TestAnOrderMayTakeLongerWhereManyPodsAreLabelledButNotForEver(t *testing.T) {
	r := &Reconciler{}
	for n, want := range map[int]time.Duration{0: 15 * time.Second, 500: 55 * time.Second, 100_000: time.Minute} {
		if got := r.timeOf(order{labels: make([]podLabel, n)}); got != want {
			t.Errorf("%d labels: %s", n, got)
		}
	}
}

func TestAClusterThatWasRegisteredAnewIsWrittenAtOnce(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)})
	w.look()
	w.look()
	w.plan(split(1, map[string]int32{"c1": 500, "c2": 500}))
	w.members["c2"].Requests()
	w.look()
	if n := len(w.members["c2"].Requests()); n > 0 {
		t.Fatalf("the same order was carried out again: %d requests", n)
	}
	var c v1alpha1.Cluster
	if err := w.hub.Get(t.Context(), types.NamespacedName{Name: "c2"}, &c); err != nil {
		t.Fatal(err)
	}
	if err := w.hub.Delete(t.Context(), &c); err != nil {
		t.Fatal(err)
	}
	anew := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c2", UID: "anew", Generation: 1}, Spec: c.Spec}
	if err := w.hub.Create(t.Context(), anew); err != nil {
		t.Fatal(err)
	}
	w.look()
	if len(w.members["c2"].Requests()) == 0 {
		t.Error("what was done in the cluster of that name before counts for this one")
	}
}

func TestABudgetHoldsForAServiceThatWasMadeWithoutAPhase(t *testing.T) {
	for _, phase := range []v1alpha1.RulesPhase{"", v1alpha1.RulesNone, v1alpha1.RulesWeights} {
		w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)})
		w.look()
		w.r.Config.BudgetClusters = 0
		in, err := w.r.gather(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		in.service.Spec.Phase = phase
		if out := decide(in); out.blocked() != (phase != v1alpha1.RulesWeights) {
			t.Errorf("phase %q: %+v", phase, out.problem)
		}
	}
}
