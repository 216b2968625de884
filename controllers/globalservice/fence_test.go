// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"testing"

	"github.com/weir-io/weir/api/v1alpha1"
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
			if got := (&input{members: []memberView{c.member}}).openAgain(c.spec, c.before); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
	facts := &pb.ServiceFacts{Pods: []*pb.Pod{pod("a", false, false, 0, 0), pod("b", true, false, 0, 0), pod("c", true, false, 0, 0)}}
	got := renewOpen(facts, 5)
	if len(got) != 1 || got[0].name != "b" || got[0].key != LabelFenceGeneration || got[0].value != "5" {
		t.Errorf("got %v", got)
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
