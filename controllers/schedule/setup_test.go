// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
)

func TestOnlyWhatMayChangeADecisionOrAPlanMakesAPass(t *testing.T) {
	binding := func(change func(*v1alpha1.ResourceBinding)) client.Object {
		b := &v1alpha1.ResourceBinding{}
		b.Status.Clusters = []v1alpha1.MemberReplicas{{Name: "c1", Ready: 2}}
		change(b)
		return b
	}
	cluster := func(change func(*v1alpha1.Cluster)) client.Object {
		c := &v1alpha1.Cluster{}
		change(c)
		return c
	}
	seen := metav1.NewTime(time.Unix(100, 0))
	aBinding, aCluster := binding(func(*v1alpha1.ResourceBinding) {}), cluster(func(*v1alpha1.Cluster) {})
	for name, c := range map[string]struct {
		before, now client.Object
		want        bool
	}{
		"nothing":            {aBinding, aBinding, false},
		"seen again":         {aBinding, binding(func(b *v1alpha1.ResourceBinding) { b.Status.Clusters[0].SeenAt = &seen }), false},
		"one more is ready":  {aBinding, binding(func(b *v1alpha1.ResourceBinding) { b.Status.Clusters[0].Ready = 3 }), true},
		"a new wish":         {aBinding, binding(func(b *v1alpha1.ResourceBinding) { b.Generation = 2 }), true},
		"looked at the plan": {aBinding, binding(func(b *v1alpha1.ResourceBinding) { b.Status.ObservedGeneration = 2 }), true},
		"nowhere to go":      {aBinding, binding(func(b *v1alpha1.ResourceBinding) { b.Status.Unplaced = 1 }), true},
		"a beat":             {aCluster, cluster(func(c *v1alpha1.Cluster) { c.Status.Agent = &v1alpha1.AgentStatus{LastBeat: &seen} }), false},
		"a label":            {aCluster, cluster(func(c *v1alpha1.Cluster) { c.Labels = map[string]string{"a": "b"} }), true},
		"a death": {aCluster, cluster(func(c *v1alpha1.Cluster) {
			meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionHealthy, Status: metav1.ConditionUnknown, Reason: "Dead"})
		}), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := matters(c.before, c.now); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// The nodes under running replicas are gone, and what runs in their place finds no node.
func TestReplicasThatFindNoNodeGoElsewhere(t *testing.T) {
	w := newWorld(t, 2, web)
	w.pass()
	w.run()
	w.pass()
	w.run(func(row *v1alpha1.MemberReplicas) {
		if row.Name == "c1" {
			row.Ready, row.Pending = 1, 2
		}
	})
	w.views.see(t, "c1", 2, 0)
	w.now = w.now.Add(tryAgain)
	w.want(w.pass(), "c1:1 c2:5", "c1:3 c2:5", v1alpha1.TriggerCreated, v1alpha1.TriggerCapacityChanged)
	w.run(func(row *v1alpha1.MemberReplicas) {
		if row.Name == "c1" {
			row.Ready, row.Pending = 1, 2
		}
	})
	w.want(w.pass(), "c1:1 c2:5", "c1:1 c2:5", v1alpha1.TriggerCreated, v1alpha1.TriggerCapacityChanged)
}

func TestAMemberGetsNothingThatItDoesNotServe(t *testing.T) {
	w := newWorld(t, 2, web)
	w.views.serve = map[string][]string{"c1": {"v1/Pod", "apps/v1beta2/Deployment"}, "c2": {"apps/v1/Deployment"}}
	b := w.pass()
	w.want(b, "c2:6", "c2:6", v1alpha1.TriggerCreated)
	if got := b.Status.History[0].Reasons; len(got) != 1 || got[0].Cluster != "c1" || got[0].Code != "NotServed" ||
		got[0].Message != "the cluster does not serve apps/v1/Deployment" {
		t.Errorf("reasons: %+v", got)
	}
	w.run()
	w.views.serve["c1"] = []string{"apps/v1/Deployment"}
	w.want(w.pass(), "c1:1 c2:5", "c1:1 c2:6", v1alpha1.TriggerCreated, v1alpha1.TriggerClusterJoined)
}
