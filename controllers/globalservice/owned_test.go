// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/pb"
)

func TestWorkloadsThatWeirOwnsAreToldFromOthers(t *testing.T) {
	of := func(name, binding string) *pb.WorkloadFacts {
		return &pb.WorkloadFacts{Kind: "Deployment", Name: name, Replicas: 1, Binding: binding}
	}
	bare := &pb.Pod{Name: "bare", Ready: true}
	cases := map[string]struct {
		workloads []*pb.WorkloadFacts
		pods      []*pb.Pod
		binding   string
		others    []string
	}{
		"a federated one":             {[]*pb.WorkloadFacts{of("web", "demo/deployment-web")}, nil, "demo/deployment-web", nil},
		"a user's":                    {[]*pb.WorkloadFacts{of("web", "")}, []*pb.Pod{bare}, "", []string{"Deployment/web"}},
		"both":                        {[]*pb.WorkloadFacts{of("web", "demo/deployment-web"), of("old", "")}, nil, "demo/deployment-web", []string{"Deployment/old"}},
		"two federated ones":          {[]*pb.WorkloadFacts{of("b", "demo/deployment-b"), of("a", "demo/deployment-a")}, nil, "demo/deployment-a", []string{"Deployment/b"}},
		"a pod that nobody would add": {[]*pb.WorkloadFacts{of("web", "demo/deployment-web")}, []*pb.Pod{bare}, "demo/deployment-web", []string{"Pod/bare"}},
		"another namespace's binding": {[]*pb.WorkloadFacts{of("web", "bank/deployment-core")}, nil, "", []string{"Deployment/web"}},
		"no name at all":              {[]*pb.WorkloadFacts{of("web", "demo/")}, nil, "", []string{"Deployment/web"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			facts := &pb.ServiceFacts{Ref: &pb.ServiceRef{Namespace: "demo", Name: "echo"}, Workloads: c.workloads, Pods: c.pods}
			binding, others := ownersOf(facts)
			if binding != c.binding || !slices.Equal(others, c.others) {
				t.Errorf("got %q and %v", binding, others)
			}
		})
	}
}

func TestFencedPodsOfAnOwnedWorkloadAreTheFirstToGo(t *testing.T) {
	facts := &pb.ServiceFacts{
		Workloads: []*pb.WorkloadFacts{{Kind: "Deployment", Name: "web", Binding: "demo/deployment-web"}},
		Pods:      []*pb.Pod{pod("a", true, false, 1, 0), pod("b", true, true, 0, 1)},
	}
	facts.Pods[0].Workload, facts.Pods[1].Workload = "Deployment/web", "Deployment/web"
	costs := func(plan v1alpha1.GlobalServiceCluster) map[string]string {
		out := map[string]string{}
		for _, l := range fenceOf(facts, plan, 1, voices{}) {
			if v, ok := l.annotations()[annotationDeletionCost]; ok {
				out[l.name] = v
			}
		}
		return out
	}
	if got := costs(v1alpha1.GlobalServiceCluster{FencedPods: 2}); got["a"] != "-1000" || len(got) != 1 {
		t.Errorf("a pod that is fenced: %v", got)
	}
	if got, ok := costs(v1alpha1.GlobalServiceCluster{})["b"]; got != "" || !ok {
		t.Errorf("a pod whose fence is taken off: %q, %t", got, ok)
	}
	facts.Workloads[0].Binding = ""
	if got := costs(v1alpha1.GlobalServiceCluster{FencedPods: 2}); len(got) != 0 {
		t.Errorf("a user's pods are marked: %v", got)
	}
}

// Replicas were lowered and the fenced pods go: whoever is left must not be fenced in their place.
func TestNoPodIsFencedInPlaceOfOneThatGoes(t *testing.T) {
	facts := &pb.ServiceFacts{Pods: []*pb.Pod{pod("a", true, false, 0, 0), pod("b", true, true, 0, 1), pod("c", true, false, 0, 0)}}
	plan := v1alpha1.GlobalServiceCluster{FencedPods: 2, Fence: v1alpha1.FenceKeep, NewPods: v1alpha1.PodsOpen}
	if got := fenceOf(facts, plan, 1, voices{}); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	plan.Fence = v1alpha1.FenceExact
	if got := fenceOf(facts, plan, 1, voices{}); len(got) == 0 {
		t.Error("a fence that is to be exact lacks a pod")
	}
}

func TestDisruptionBudgetsStandInTheMembersLineUntilItHasNone(t *testing.T) {
	facts := &pb.ServiceFacts{Budgets: []*pb.DisruptionBudget{
		{Name: "two", Amount: 2, OtherPods: 3, OtherReady: 1}, {Name: "tenth", Amount: 10, Percent: true, Unavailable: true}, {Name: "two", Amount: 9},
	}}
	var c v1alpha1.GlobalServiceClusterStatus
	observe(&c, memberView{name: "c1", seen: true, facts: facts}, time.Now())
	want := []v1alpha1.DisruptionBudget{
		{Name: "two", MinAvailable: new(int32(2)), Unit: v1alpha1.BudgetPods, OtherPods: 3, OtherReady: 1},
		{Name: "tenth", MaxUnavailable: new(int32(10)), Unit: v1alpha1.BudgetPercent},
	}
	if d := cmp.Diff(want, c.Budgets); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	observe(&c, memberView{name: "c1"}, time.Now())
	if len(c.Budgets) != 2 {
		t.Errorf("a member that is not heard lost its budgets: %+v", c.Budgets)
	}
	observe(&c, memberView{name: "c1", seen: true}, time.Now())
	if len(c.Budgets) != 0 {
		t.Errorf("a member without the Service has %+v", c.Budgets)
	}
}
