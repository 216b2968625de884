// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
)

// inService makes a service in c1 and c2 behind which the workload of shop/deployment-web is; planned are its replicas
// there, -1 where its plan does not tell.
func inService(name string, planned ...int32) v1alpha1.GlobalService {
	gs := v1alpha1.GlobalService{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	for i, n := range planned {
		cluster := []string{"c1", "c2", "c3"}[i]
		gs.Status.Clusters = append(gs.Status.Clusters, v1alpha1.GlobalServiceClusterStatus{Name: cluster, Binding: "shop/deployment-web"})
		line := v1alpha1.GlobalServiceCluster{Name: cluster}
		if n >= 0 {
			line.Replicas = new(n)
		}
		gs.Spec.Clusters = append(gs.Spec.Clusters, line)
	}
	return gs
}

func TestReplicasBehindAServiceAreThoseThatItsShiftPlans(t *testing.T) {
	edit := func(gs v1alpha1.GlobalService, change func(*v1alpha1.GlobalService)) v1alpha1.GlobalService {
		change(&gs)
		return gs
	}
	mixed := edit(inService("web", 1, 1), func(gs *v1alpha1.GlobalService) { gs.Status.Clusters[0].Workloads = []string{"Deployment/mine"} })
	foreign := edit(inService("web", 3, 3), func(gs *v1alpha1.GlobalService) { gs.Status.Foreign = []string{"c1: VirtualService x/y"} })
	cases := map[string]struct {
		stands, decided, rest map[string]int32
		services              []v1alpha1.GlobalService
		want                  map[string]int32 // nil: no service is behind it
	}{
		"no service":             {two(3, 3), two(5, 1), two(5, 3), nil, nil},
		"another one's service":  {two(3, 3), two(5, 1), two(5, 3), []v1alpha1.GlobalService{edit(inService("web", 1, 1), func(gs *v1alpha1.GlobalService) { gs.Namespace = "bank" })}, nil},
		"its shift plans":        {two(3, 3), two(5, 1), two(5, 1), []v1alpha1.GlobalService{inService("web", 5, 3)}, two(5, 3)},
		"its shift says nothing": {two(3, 3), two(5, 1), two(5, 1), []v1alpha1.GlobalService{inService("web", -1, -1)}, two(3, 3)},
		"two services: who wants more": {
			two(3, 3), two(5, 1), two(5, 1), []v1alpha1.GlobalService{inService("web", 5, 1), inService("admin", 3, 3)}, two(5, 3),
		},
		"a drained cluster leaves the plan": {two(6, 0), map[string]int32{"c1": 6}, two(6, 0), []v1alpha1.GlobalService{inService("web", 6, 0)}, map[string]int32{"c1": 6}},
		"a member without the service": {
			map[string]int32{"c1": 3, "c3": 4},
			map[string]int32{"c1": 3, "c3": 2},
			map[string]int32{"c1": 3, "c3": 2},
			[]v1alpha1.GlobalService{inService("web", 3)},
			map[string]int32{"c1": 3, "c3": 2},
		},
		"pods of somebody else's too: nothing falls": {two(3, 3), two(5, 1), two(5, 1), []v1alpha1.GlobalService{mixed}, two(5, 3)},
		"its shift stands still: more may come":      {two(3, 3), two(5, 1), two(5, 1), []v1alpha1.GlobalService{foreign}, two(5, 3)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "deployment-web"}}
			b.Spec.Plan = lines(c.stands)
			for _, l := range lines(c.decided) {
				b.Spec.Clusters = append(b.Spec.Clusters, v1alpha1.BindingCluster{Name: l.Name, Replicas: l.Replicas})
			}
			plan, ok := PlanOf(b, lines(c.rest), c.services)
			if ok != (c.want != nil) {
				t.Fatalf("steered: %t", ok)
			}
			if d := cmp.Diff(lines(c.want), plan); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestLimitsAreLoweredWhereEveryServiceHasPlannedSo(t *testing.T) {
	lowered := func(gs v1alpha1.GlobalService, clusters ...string) v1alpha1.GlobalService {
		for i := range gs.Spec.Clusters {
			if slices.Contains(clusters, gs.Spec.Clusters[i].Name) {
				gs.Spec.Clusters[i].Autoscaler = v1alpha1.AutoscalerLowered
			}
		}
		return gs
	}
	mixed := lowered(inService("web", 1, 1), "c1")
	mixed.Status.Clusters[0].Workloads = []string{"Deployment/mine"}
	for name, c := range map[string]struct {
		services []v1alpha1.GlobalService
		want     []string
	}{
		"no service":                  {nil, nil},
		"one":                         {[]v1alpha1.GlobalService{lowered(inService("web", 3, 0), "c2")}, []string{"c2"}},
		"both":                        {[]v1alpha1.GlobalService{lowered(inService("web", 3, 0), "c2"), lowered(inService("admin", 3, 0), "c2")}, []string{"c2"}},
		"one of two":                  {[]v1alpha1.GlobalService{lowered(inService("web", 3, 0), "c2"), inService("admin", 3, 3)}, nil},
		"the other is not there":      {[]v1alpha1.GlobalService{lowered(inService("web", 3, 0), "c2"), inService("admin", 3)}, []string{"c2"}},
		"pods of somebody else's too": {[]v1alpha1.GlobalService{mixed}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "deployment-web"}}
			if d := cmp.Diff(c.want, LoweredOf(b, c.services), cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestWhereAnAutoscalerSetsTheReplicasThePlanNeedNotBeTheDecision(t *testing.T) {
	for state, want := range map[v1alpha1.AutoscalerState]string{
		v1alpha1.AutoscalerOwns: "", v1alpha1.AutoscalerOperated: "", v1alpha1.AutoscalerHeld: "Wait", v1alpha1.AutoscalerOff: "Wait",
	} {
		b := &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "deployment-web"}}
		b.Spec.Clusters = []v1alpha1.BindingCluster{{Name: "c1", Replicas: 3}, {Name: "c2", Replicas: 3}}
		b.Spec.Plan = lines(two(3, 5))
		b.Status.Clusters = []v1alpha1.MemberReplicas{{Name: "c2", Applied: 5, Autoscaler: &v1alpha1.MemberAutoscaler{State: state}}}
		gs := inService("web", 3, 5)
		gs.Status.Shift.Step = "Done"
		if m := steered(b, move{}, []v1alpha1.GlobalService{gs}); m.step != want {
			t.Errorf("%s: the step is %q", state, m.step)
		}
		b.Spec.Clusters = b.Spec.Clusters[:1]
		if m := steered(b, move{}, []v1alpha1.GlobalService{gs}); m.step != "Wait" {
			t.Errorf("%s, in a cluster that shall have none: the step is %q", state, m.step)
		}
	}
}

func TestABindingTellsOfTheShiftThatMovesIt(t *testing.T) {
	b := &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "deployment-web"}}
	b.Spec.Plan = lines(two(3, 3))
	b.Spec.Clusters = []v1alpha1.BindingCluster{{Name: "c1", Replicas: 6}}
	gs := inService("web", 6, 3)
	gs.Status.Shift = v1alpha1.ShiftStatus{Step: "Wait", Blocked: []v1alpha1.Blocker{{Code: "NotQuiet", Cluster: "c2"}}}
	if m := steered(b, move{}, []v1alpha1.GlobalService{gs}); m.step != "Wait" || len(m.blocked) != 1 || m.blocked[0].Code != "NotQuiet" {
		t.Errorf("under way: %+v", m)
	}
	gs.Status.Shift = v1alpha1.ShiftStatus{Step: "Done"}
	if m := steered(b, move{}, []v1alpha1.GlobalService{gs}); m.step != stepWait {
		t.Errorf("the plan is not the decision yet: %+v", m)
	}
	if m := steered(b, move{}, []v1alpha1.GlobalService{inService("web", 6, 0)}); m.step != "" {
		t.Errorf("the plan is the decision: %+v", m)
	}
	if m := steered(b, move{step: stepUp}, nil); m.step != stepUp {
		t.Errorf("without a service: %+v", m)
	}
}

func two(c1, c2 int32) map[string]int32 { return map[string]int32{"c1": c1, "c2": c2} }

func lines(of map[string]int32) []v1alpha1.ClusterReplicas {
	var out []v1alpha1.ClusterReplicas
	for _, name := range []string{"c1", "c2", "c3"} {
		if n, ok := of[name]; ok {
			out = append(out, v1alpha1.ClusterReplicas{Name: name, Replicas: n})
		}
	}
	return out
}
