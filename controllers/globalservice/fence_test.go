// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/resview/pb"
)

func TestAFenceOfNothingIsRenewedByAMarkOnOneOpenPod(t *testing.T) {
	lapsed := v1alpha1.ProofStatus{Lease: v1alpha1.LeaseLapsed, Generation: 4}
	open := v1alpha1.GlobalServiceSpec{FenceGeneration: 5, Clusters: []v1alpha1.GlobalServiceCluster{{Name: "c1", NewPods: v1alpha1.PodsOpen}}}
	fenced := open
	fenced.Clusters = []v1alpha1.GlobalServiceCluster{{Name: "c1", FencedPods: 1, NewPods: v1alpha1.PodsFenced}}
	has := func(seen bool, pods ...*pb.Pod) memberView {
		m := memberOf("c1", nil)
		m.facts, m.seen = &pb.ServiceFacts{Pods: pods}, seen
		return m
	}
	ending := pod("a", true, true, 0, 4)
	ending.Terminating = true
	two := has(true, pod("a", true, false, 0, 0), pod("b", true, false, 0, 0))
	cases := map[string]struct {
		spec   v1alpha1.GlobalServiceSpec
		before v1alpha1.ProofStatus
		member memberView
		want   bool
	}{
		"lapsed, and asked anew":                   {open, lapsed, two, true},
		"the answer to the new one is awaited":     {open, v1alpha1.ProofStatus{Lease: v1alpha1.LeaseLapsed, Generation: 5}, two, false},
		"the lease is held":                        {open, v1alpha1.ProofStatus{Lease: v1alpha1.LeaseHeld, Generation: 4}, two, false},
		"fenced pods carry the generation already": {fenced, lapsed, two, false},
		"the fenced pods are gone":                 {fenced, lapsed, has(true), true},
		"they end":                                 {fenced, lapsed, has(true, ending), true},
		"they are not ready":                       {fenced, lapsed, has(true, pod("a", false, true, 0, 4)), true},
		"the member is off":                        {fenced, lapsed, has(false, pod("a", true, true, 0, 4)), true},
		"never fenced":                             {v1alpha1.GlobalServiceSpec{}, lapsed, two, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := order{member: c.member}
			if c.member.seen {
				o.labels = fenceOf(c.member.facts, planIn(&v1alpha1.GlobalService{Spec: c.spec}, "c1"), c.spec.FenceGeneration, voices{})
			}
			if got := renewing(c.spec, c.before) && !marked(o); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
	facts := &pb.ServiceFacts{Pods: []*pb.Pod{pod("a", false, false, 0, 0), pod("b", true, false, 0, 0), pod("c", true, false, 0, 0)}}
	got := mark(facts, 5)
	if len(got) != 1 || got[0].name != "b" || got[0].key != LabelFenceGeneration || got[0].value != "5" {
		t.Errorf("got %v", got)
	}
}

// One label on a pod counts for all services that are behind it, each with a count of its own.
func TestAMarkOfAnotherServiceDoesNotHideOne(t *testing.T) {
	for name, c := range map[string]struct {
		own, other v1alpha1.GlobalServiceCluster
		fenced     bool
		bears      int64 // both pods, by the other service
		drained    bool
	}{
		"both out, and the other was written anew more often":  {shut, shut, true, 9, true},
		"both open, and the other was written anew more often": {open, open, false, 9, false},
		"the other has opened, and so keeps the fence off":     {shut, open, false, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			pods := []*pb.Pod{pod("a", true, c.fenced, 9, c.bears), pod("b", true, c.fenced, 1, c.bears)}
			in := sharing(global("echo", pods...), map[string]*pb.ServiceFacts{"api": global("echo", pods...)}, neighbour("api", c.other))
			in.members[0].seen = true
			c.own.Name = "c1"
			spec := v1alpha1.GlobalServiceSpec{FenceGeneration: 3, Clusters: []v1alpha1.GlobalServiceCluster{c.own}}
			m := in.members[0]
			orders := []order{{member: m, labels: fenceOf(m.facts, c.own, 3, m.shared.under(c.drained))}}
			markAnew(orders, spec, v1alpha1.ProofStatus{Lease: v1alpha1.LeaseLapsed, Generation: 2})
			for _, l := range orders[0].labels {
				if l.key == LabelFenceGeneration && l.serves && l.value != strconv.FormatInt(c.bears, 10) {
					return
				}
			}
			t.Errorf("generation 3 is asked for, since the lease has lapsed, and no pod changes its mark: %+v", orders[0].labels)
		})
	}
}

func TestAMarkThatCouldNotBeWrittenIsWrittenAtALaterLook(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(2), facts(2)})
	w.look()
	w.look()
	spec := split(1, map[string]int32{"c1": 500, "c2": 500})
	spec.FenceGeneration = 1
	gs := w.plan(spec)
	gs.Status.Fence.Lease, gs.Status.Fence.Generation = v1alpha1.LeaseLapsed, 1
	if err := w.hub.Status().Update(t.Context(), gs); err != nil {
		t.Fatal(err)
	}
	for _, m := range w.members {
		m.Fail(func(r fleettest.Request) error {
			if strings.Contains(r.Path, "/pods/") {
				return errors.New("away")
			}
			return nil
		})
	}
	gs.Spec.FenceGeneration = 2
	gs = w.plan(gs.Spec)
	if f := gs.Status.Fence; f.Lease != v1alpha1.LeaseLapsed || f.Generation != 1 || f.Level != v1alpha1.ProofNone {
		t.Errorf("nothing was marked, and the fence is %+v", f)
	}
	for _, m := range w.members {
		m.Fail(nil)
	}
	marks := func() int {
		n := 0
		for _, x := range w.writes() {
			if strings.Contains(x, "/pods/") {
				n++
			}
		}
		return n
	}
	marks()
	if f := w.look().Status.Fence; f.Generation != 2 || f.Lease != v1alpha1.LeaseHeld {
		t.Errorf("it is marked, and the fence is %+v", f)
	}
	if n := marks(); n != 2 {
		t.Errorf("%d pods are marked, want one in each member", n)
	}
	w.look()
	if n := marks(); n != 0 {
		t.Errorf("%d more are marked for the same generation", n)
	}
}

func TestAFenceIsHeldToHaveNoMarkOnlyWhereOneIsDue(t *testing.T) {
	due := order{member: memberOf("c1", nil), labels: []podLabel{{key: LabelFenceGeneration, value: "5", serves: true}}}
	none := order{member: memberOf("c2", nil)}
	away := map[string]error{"c1": errors.New("away")}
	for name, c := range map[string]struct {
		orders  []order
		failed  map[string]error
		blocked bool
		want    bool
	}{
		"it was written":                 {[]order{due, none}, nil, false, false},
		"it failed":                      {[]order{due, none}, away, false, true},
		"nothing may be written":         {[]order{due, none}, nil, true, true},
		"no pod serves":                  {[]order{none}, nil, false, false},
		"no pod serves, and none may be": {[]order{none}, nil, true, false},
	} {
		out := outcome{orders: c.orders, spec: v1alpha1.GlobalServiceSpec{FenceGeneration: 5}}
		out.base.Fence = v1alpha1.ProofStatus{Lease: v1alpha1.LeaseLapsed, Generation: 4}
		if c.blocked {
			out.problem = &problem{"ForeignRule", "a rule"}
		}
		if got := out.unmarked(c.failed); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestMarksGoWhenTheFenceIsForgotten(t *testing.T) {
	facts := &pb.ServiceFacts{Pods: []*pb.Pod{pod("a", true, false, 0, 5), pod("b", true, false, 0, 0)}}
	got := fenceOf(facts, v1alpha1.GlobalServiceCluster{NewPods: v1alpha1.PodsOpen}, 0, voices{})
	if len(got) != 1 || got[0].name != "a" || got[0].value != "" {
		t.Errorf("got %v", got)
	}
}

func TestAnAnnotationThatIsNotServedStopsTheRulesAndSaysSo(t *testing.T) {
	m := memberOf("c1", nil)
	m.facts = &pb.ServiceFacts{Annotations: map[string]string{v1alpha1.AnnotationGlobal: "true", v1alpha1.AnnotationAdopt: "shop/api"}}
	_, got := (&input{key: key, members: []memberView{m}}).policy()
	if got == nil || got.reason != v1alpha1.ReasonNotSupported {
		t.Errorf("got %+v", got)
	}
}
