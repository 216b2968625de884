// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servicedns

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
)

func TestOnlyWhatNamesDependOnIsLookedAtAgain(t *testing.T) {
	at := metav1.NewTime(start.Add(time.Hour))
	service := func(change func(*v1alpha1.GlobalService)) client.Object {
		gs := serviceOf("echo", nil, "c1", "c2")
		change(gs)
		return gs
	}
	member := func(change func(*v1alpha1.Cluster)) client.Object {
		c := memberOf("c1", "192.0.2.1")
		change(c)
		return c
	}
	before := service(func(*v1alpha1.GlobalService) {})
	registered := member(func(*v1alpha1.Cluster) {})
	for name, c := range map[string]struct {
		before, now client.Object
		want        bool
	}{
		"a proof":      {before, service(func(gs *v1alpha1.GlobalService) { gs.Status.Weights.SeenAt = &at }), false},
		"a plan":       {before, service(func(gs *v1alpha1.GlobalService) { gs.Generation++ }), true},
		"a wish":       {before, service(func(gs *v1alpha1.GlobalService) { gs.Status.NameWishes = &v1alpha1.NameWishes{TTL: "1s"} }), true},
		"a record":     {before, service(func(gs *v1alpha1.GlobalService) { gs.Status.Names = &v1alpha1.NamesStatus{} }), true},
		"one pod less": {before, service(func(gs *v1alpha1.GlobalService) { gs.Status.Clusters[0].Ready-- }), false},
		"no pod left":  {before, service(func(gs *v1alpha1.GlobalService) { gs.Status.Clusters[0].Ready = 0 }), true},
		"more pods":    {before, service(func(gs *v1alpha1.GlobalService) { gs.Status.Clusters[0].Replicas++ }), true},
		"a beat":       {registered, member(func(c *v1alpha1.Cluster) { c.Status.Agent = &v1alpha1.AgentStatus{LastBeat: &at} }), false},
		"a way in":     {registered, member(func(c *v1alpha1.Cluster) { c.Status.IngressAddresses = nil }), true},
		"a drain":      {&v1alpha1.ClusterDrain{}, &v1alpha1.ClusterDrain{}, true},
	} {
		if got := matters(c.before, c.now); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
