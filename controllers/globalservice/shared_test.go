// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/stream"
)

// neighbour is another global service of the namespace, with its plan for c1.
func neighbour(name string, plan v1alpha1.GlobalServiceCluster) *v1alpha1.GlobalService {
	plan.Name = "c1"
	return &v1alpha1.GlobalService{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name},
		Spec:       v1alpha1.GlobalServiceSpec{Clusters: []v1alpha1.GlobalServiceCluster{plan}},
	}
}

// sharing is the look at a service of c1 beside neighbours of which the member tells these facts, by name.
func sharing(own *pb.ServiceFacts, told map[string]*pb.ServiceFacts, neighbours ...*v1alpha1.GlobalService) *input {
	m := memberOf("c1", nil)
	m.facts, m.snapshot = own, &stream.Snapshot{Services: map[types.NamespacedName]stream.Fact[*pb.ServiceFacts]{}}
	for name, f := range told {
		m.snapshot.Services[types.NamespacedName{Namespace: key.Namespace, Name: name}] = stream.Fact[*pb.ServiceFacts]{Value: f}
	}
	in := &input{key: key, members: []memberView{m}, neighbours: neighbours}
	in.share()
	return in
}

func global(selector string, pods ...*pb.Pod) *pb.ServiceFacts {
	return &pb.ServiceFacts{
		Annotations: map[string]string{v1alpha1.AnnotationGlobal: "true"}, Selector: map[string]string{"app": selector}, Pods: pods,
	}
}

func TestOtherGlobalServicesOnTheSamePodsAreNamed(t *testing.T) {
	a, b := pod("a", true, false, 0, 0), pod("b", true, false, 0, 0)
	gone := pod("gone", true, false, 0, 0)
	gone.Terminating = true
	plain := global("echo", a)
	plain.Annotations = nil
	in := sharing(global("echo", a, b, gone), map[string]*pb.ServiceFacts{
		"web": global("echo", b), "api": global("echo", a, b), "ends": global("echo", gone), "other": global("other", a), "plain": plain, "unknown": global("echo", a),
	}, neighbour("web", open), neighbour("api", open), neighbour("ends", open), neighbour("other", open), neighbour("plain", open), neighbour("elsewhere", open))
	var c v1alpha1.GlobalServiceClusterStatus
	observe(&c, in.members[0], now)
	if !slices.Equal(c.SharedWith, []string{"api", "web"}) {
		t.Errorf("got %v", c.SharedWith)
	}
}

var (
	open = v1alpha1.GlobalServiceCluster{NewPods: v1alpha1.PodsOpen}
	shut = v1alpha1.GlobalServiceCluster{NewPods: v1alpha1.PodsFenced, FencedPods: 2}
	some = v1alpha1.GlobalServiceCluster{NewPods: v1alpha1.PodsOpen, FencedPods: 1}
)

// TestServicesOnTheSamePodsDoNotUndoEachOthersFence holds what becomes of pods a and b, of which another service is behind
// both, while its plan says something else.
func TestServicesOnTheSamePodsDoNotUndoEachOthersFence(t *testing.T) {
	cases := map[string]struct {
		own, other v1alpha1.GlobalServiceCluster
		fenced     bool // both pods are
		drained    bool
		want       []string // changes of the fence
	}{
		"who fences first in a drain does":                   {shut, open, false, true, []string{"a=true", "b=true"}},
		"who comes second in a drain leaves it":              {open, shut, true, true, nil},
		"a fence that nobody wants goes":                     {open, open, true, true, []string{"a=", "b="}},
		"who comes back first opens them for both":           {open, shut, true, false, []string{"a=", "b="}},
		"who comes back second does not fence them again":    {shut, open, false, false, nil},
		"a fence that stands is kept":                        {shut, open, true, false, nil},
		"one too many of both is fenced, and it is the same": {some, some, false, false, []string{"a=true"}},
		"one too many of one alone is needed by the other":   {some, open, false, false, nil},
		"both are out": {shut, shut, false, true, []string{"a=true", "b=true"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pods := []*pb.Pod{pod("a", true, c.fenced, 9, 0), pod("b", true, c.fenced, 1, 0)}
			if c.fenced {
				pods[0].FenceGeneration, pods[1].FenceGeneration = 1, 1
			}
			in := sharing(global("echo", pods...), map[string]*pb.ServiceFacts{"api": global("echo", pods...)}, neighbour("api", c.other))
			var got []string
			for _, l := range fenceOf(in.members[0].facts, c.own, 1, in.members[0].shared.under(c.drained)) {
				if l.key == LabelFence {
					got = append(got, l.name+"="+l.value)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestAServiceThatIsGlobalNoLongerLeavesTheFenceOfPodsThatAreAnothersToo(t *testing.T) {
	a, b := pod("a", true, true, 0, 1), pod("b", true, true, 0, 1)
	in := sharing(nil, map[string]*pb.ServiceFacts{"api": global("echo", a)}, neighbour("api", some))
	in.members[0].leftover = &pb.ServiceFacts{Selector: map[string]string{"app": "echo"}, Pods: []*pb.Pod{a, b}}
	o := order{member: in.members[0]}
	in.leaveNoFence(&o)
	for _, l := range o.labels {
		if l.name != "b" {
			t.Errorf("it changes %+v", l)
		}
	}
	if len(o.labels) != 2 {
		t.Errorf("%d changes, want 2", len(o.labels))
	}
}

func TestAMarkOnASharedPodIsLeft(t *testing.T) {
	a := pod("a", true, false, 0, 5)
	in := sharing(global("echo", a), map[string]*pb.ServiceFacts{"api": global("echo", a)}, neighbour("api", open))
	if got := fenceOf(in.members[0].facts, open, 0, in.members[0].shared.under(false)); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
