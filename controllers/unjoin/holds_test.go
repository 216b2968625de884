// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package unjoin

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
)

// gone is a fleet in which nothing keeps c2.
func gone() *Fleet {
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c2"}}
	c.Status.Agent = &v1alpha1.AgentStatus{Version: "v1"}
	c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Joined"}}
	gs := service("echo")
	gs.Status.Clusters = []v1alpha1.GlobalServiceClusterStatus{{Name: "c1", Replicas: 3, Ready: 3, Weight: v1alpha1.WeightStatus{Wanted: 1000}}, {Name: "c2"}}
	b := v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "deployment-web"}}
	b.Spec.Resource = v1alpha1.ResourceReference{Kind: "Deployment", Namespace: "shop", Name: "web"}
	b.Spec.Plan = []v1alpha1.ClusterReplicas{{Name: "c1", Replicas: 3}, {Name: "c2"}}
	b.Status.Clusters = []v1alpha1.MemberReplicas{{Name: "c1", Applied: 3, Ready: 3}, {Name: "c2"}}
	return &Fleet{Cluster: c, Drains: []v1alpha1.ClusterDrain{*drained()}, Services: []v1alpha1.GlobalService{*gs}, Bindings: []v1alpha1.ResourceBinding{b}}
}

func (f *Fleet) ready(status metav1.ConditionStatus, reason string) {
	f.Cluster.Status.Conditions[0].Status, f.Cluster.Status.Conditions[0].Reason = status, reason
}

func TestWhatHoldsAMemberIsNamedWithTheWayOut(t *testing.T) {
	no := false
	cases := map[string]struct {
		change func(*Fleet)
		codes  []string
		says   string
	}{
		"nothing":            {func(*Fleet) {}, nil, ""},
		"it is in service":   {func(f *Fleet) { f.Drains = nil }, []string{NotDrained}, "kubectl weir drain c2"},
		"another is drained": {func(f *Fleet) { f.Drains[0].Spec.ClusterName = "c1" }, []string{NotDrained}, "in service"},
		"it is given back":   {func(f *Fleet) { f.Drains[0].Spec.Desired = v1alpha1.InService }, []string{NotDrained}, "being given back"},
		"it is being drained": {func(f *Fleet) {
			d := &f.Drains[0].Status
			d.Progress, d.Conditions[0].Status, d.Conditions[0].Message = "0/1", metav1.ConditionFalse, "demo/echo: waiting for web.demo"
		}, []string{Draining}, "its drain is at 0/1: demo/echo: waiting for web.demo"},
		"it is not safe": {func(f *Fleet) {
			f.Drains[0].Status.SafeToPowerOff, f.Drains[0].Status.Conditions[0].Message = &no, "not safe to power off: callers"
		}, []string{NotSafe}, "callers"},
		"pods of others": {func(f *Fleet) {
			f.Services[0].Status.Clusters[1].Replicas, f.Services[0].Status.Clusters[1].Workloads = 2, []string{"Deployment/echo"}
		}, []string{PodsRemain}, "2 pods behind demo/echo there, run by Deployment/echo, which weir does not own: scale that to 0"},
		"pods that go": {func(f *Fleet) { f.Services[0].Status.Clusters[1].Replicas = 1 }, []string{PodsRemain}, "1 pod behind demo/echo still there: the drain takes them away"},
		"pods that stay without a drain": {func(f *Fleet) {
			f.Drains, f.Services[0].Status.Clusters[1].Replicas = nil, 2
		}, []string{NotDrained, PodsRemain}, "2 pods behind demo/echo there: kubectl weir drain c2"},
		"a weight": {func(f *Fleet) { f.Services[0].Status.Clusters[1].Weight.ProvenHigh = 1 }, []string{TrafficRemains}, "kubectl weir status demo/echo"},
		"a plan":   {func(f *Fleet) { f.Bindings[0].Spec.Plan[1].Replicas = 1 }, []string{ReplicasRemain}, "0 replicas of Deployment shop/web there, and 1 planned"},
		"replicas": {func(f *Fleet) { f.Bindings[0].Status.Clusters[1].Ready = 2 }, []string{ReplicasRemain}, "2 replicas of Deployment shop/web there"},
		"somebody else's replicas": {func(f *Fleet) {
			f.Bindings[0].Status.Clusters[1].Applied, f.Bindings[0].Status.Clusters[1].Sync = 2, v1alpha1.SyncConflict
		}, nil, ""},
		"replicas on record alone": {func(f *Fleet) {
			f.Works = []v1alpha1.Work{*workOf("Deployment", "lost", `{"kind":"Deployment","spec":{"replicas":2}}`)}
		}, []string{ReplicasRemain}, "2 replicas of Deployment shop/lost on record there"},
		"it is off":                 {func(f *Fleet) { f.ready(metav1.ConditionUnknown, v1alpha1.ReasonContactLost) }, []string{NotHeard}, "kubectl weir unjoin c2 --force"},
		"its API server is silent":  {func(f *Fleet) { f.ready(metav1.ConditionFalse, "APIServerSilent") }, []string{NotHeard}, "cannot write there (APIServerSilent"},
		"the hub has not looked":    {func(f *Fleet) { f.Cluster.Status.Conditions = nil }, []string{NotHeard}, "not looked"},
		"its Istio has another ID":  {func(f *Fleet) { f.ready(metav1.ConditionFalse, "IstioClusterIDDiffers") }, nil, ""},
		"it was never heard at all": {func(f *Fleet) { *f = Fleet{Cluster: &v1alpha1.Cluster{ObjectMeta: f.Cluster.ObjectMeta}} }, nil, ""},
		"never heard, and counted":  {func(f *Fleet) { f.Cluster.Status.Agent, f.Drains = nil, nil }, []string{NotDrained}, "in service"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := gone()
			c.change(f)
			var codes []string
			said := ""
			for _, h := range Holds(f) {
				codes = append(codes, h.Code)
				said += h.Message + "\n"
			}
			if !slices.Equal(codes, c.codes) || !strings.Contains(said, c.says) {
				t.Errorf("%v: %s", codes, said)
			}
		})
	}
}

func TestForceIsForAMemberThatIsGoneAlone(t *testing.T) {
	f := gone()
	if got := HoldsForced(f); len(got) != 1 || got[0].Code != StillHeard || !strings.Contains(got[0].Message, "leave --force out") {
		t.Errorf("got %v", got)
	}
	f.ready(metav1.ConditionUnknown, v1alpha1.ReasonContactLost)
	if got := HoldsForced(f); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
