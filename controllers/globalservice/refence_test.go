// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/resview/pb"
)

func TestAFenceThatWasOpenedIsNotedUntilItIsProvenSince(t *testing.T) {
	at := func(d time.Duration) *metav1.Time {
		t := metav1.NewTime(now.Add(d))
		return &t
	}
	fenced := v1alpha1.GlobalServiceSpec{FenceGeneration: 2, Clusters: []v1alpha1.GlobalServiceCluster{{Name: "c2", FencedPods: 3, NewPods: v1alpha1.PodsFenced}}}
	open := v1alpha1.GlobalServiceSpec{FenceGeneration: 2, Clusters: []v1alpha1.GlobalServiceCluster{{Name: "c2", NewPods: v1alpha1.PodsOpen}}}
	proof := func(level v1alpha1.ProofLevel, generation int64, seen *metav1.Time) v1alpha1.ProofStatus {
		return v1alpha1.ProofStatus{Level: level, Generation: generation, SeenAt: seen}
	}
	proven := proof(v1alpha1.ProofProven, 2, at(-time.Second))
	cases := map[string]struct {
		spec   v1alpha1.GlobalServiceSpec
		fenced int32
		sight  v1alpha1.SightState
		before *metav1.Time
		fence  v1alpha1.ProofStatus
		want   *metav1.Time
	}{
		"as it was proven":               {fenced, 3, v1alpha1.SightSeen, nil, proven, nil},
		"a pod outside":                  {fenced, 2, v1alpha1.SightSeen, nil, proven, at(0)},
		"still outside":                  {fenced, 2, v1alpha1.SightSeen, at(-time.Minute), proven, at(0)},
		"inside again, proven before":    {fenced, 3, v1alpha1.SightSeen, at(-time.Second), proven, at(-time.Second)},
		"inside again, proven since":     {fenced, 3, v1alpha1.SightSeen, at(-2 * time.Second), proven, nil},
		"since, without a proxy":         {fenced, 3, v1alpha1.SightSeen, at(-2 * time.Second), proof(v1alpha1.ProofTimed, 2, at(-time.Second)), nil},
		"an older fence was proven":      {fenced, 3, v1alpha1.SightSeen, at(-2 * time.Second), proof(v1alpha1.ProofProven, 1, at(-time.Second)), at(-2 * time.Second)},
		"nothing is proven":              {fenced, 3, v1alpha1.SightSeen, at(-2 * time.Second), proof(v1alpha1.ProofNone, 2, nil), at(-2 * time.Second)},
		"not heard, and was never noted": {fenced, 2, v1alpha1.SightBlind, nil, proven, nil},
		"nothing is to be fenced":        {open, 0, v1alpha1.SightSeen, at(-time.Second), proven, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			clusters := []v1alpha1.GlobalServiceClusterStatus{{Name: "c2", Ready: 3, Fenced: c.fenced, Sight: c.sight, RefencedAt: c.before}}
			noteOpened(clusters, c.spec, c.fence, now)
			if got := clusters[0].RefencedAt; !got.Equal(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestThatAFenceWasOpenedStaysInStatusUntilTheAgentsAnswerAnew(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3, fence)})
	w.look()
	w.look()
	w.plan(split(1, map[string]int32{"c1": 1000, "c2": 0}, "c2"))
	w.prove("c1", "c2")
	if c := w.look().Status.Clusters[1]; c.RefencedAt != nil || c.Fenced != 3 {
		t.Fatalf("nobody opened it: %+v", c)
	}
	w.set("c2", facts(3, fence, func(f *pb.ServiceFacts) { f.Pods[0].Fenced = false }))
	w.ahead = -5 * time.Second // the proof is to be younger by more than the second that status keeps
	if c := w.look().Status.Clusters[1]; c.RefencedAt == nil {
		t.Fatalf("a pod is open: %+v", c)
	}
	w.set("c2", facts(3, fence))
	w.ahead = 0
	w.members["c1"].agent.Prove(w.T)
	gs := w.look()
	w.link.Await(t, "the fence was proven since", func() bool {
		w.members["c1"].agent.Prove(w.T)
		w.members["c2"].agent.Prove(w.T)
		gs = w.look()
		return gs.Status.Clusters[1].RefencedAt == nil
	})
	if gs.Status.Fence.Level != v1alpha1.ProofProven {
		t.Errorf("forgotten without a proof: %+v", gs.Status.Fence)
	}
}

// fence has all pods bear the fence.
func fence(f *pb.ServiceFacts) {
	for _, p := range f.GetPods() {
		p.Fenced, p.FenceGeneration = true, 1
	}
}

// fencedBehind is a service whose pods in c2 are fenced, as the status that is returned tells, behind a cache.
func fencedBehind(t *testing.T) (*world, *behind, *v1alpha1.GlobalService) {
	t.Helper()
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3, fence)})
	cache := &behind{Client: w.hub}
	w.r.Client = cache
	w.look()
	w.look()
	w.plan(split(1, map[string]int32{"c1": 1000, "c2": 0}, "c2"))
	w.prove("c1", "c2")
	return w, cache, w.look()
}

// behind is a cache that has not seen the last writes: while there is an old service, it gives that.
type behind struct {
	client.Client

	old *v1alpha1.GlobalService
}

func (b *behind) Get(ctx context.Context, name client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if gs, ok := o.(*v1alpha1.GlobalService); ok && b.old != nil {
		b.old.DeepCopyInto(gs)
		return nil
	}
	return b.Client.Get(ctx, name, o, opts...)
}

func TestThatAFenceWasOpenedIsNotForgottenByALookAtAnOlderStatus(t *testing.T) {
	w, cache, old := fencedBehind(t)
	w.set("c2", facts(3, fence, func(f *pb.ServiceFacts) { f.Pods[0].Fenced = false }))
	if c := w.look().Status.Clusters[1]; c.RefencedAt == nil {
		t.Fatalf("a pod is open: %+v", c)
	}
	cache.old = old
	w.set("c2", facts(2, fence))
	w.look()
	cache.old = nil
	if c := w.service().Status.Clusters[1]; c.RefencedAt == nil {
		t.Errorf("it is forgotten: %+v", c)
	}
	if c := w.look().Status.Clusters[1]; c.RefencedAt == nil || c.Ready != 2 {
		t.Errorf("after the cache has caught up: %+v", c)
	}
	w.set("c2", facts(1, fence))
	cache.old, w.ahead = old, unseenFor
	if w.look(); w.service().Status.Clusters[1].Ready != 1 {
		t.Errorf("a cache that stays behind holds it up for ever")
	}
}

// What a look writes counts from when it is written: orders take their time.
func TestThatAFenceWasOpenedIsNotForgottenAfterASlowLook(t *testing.T) {
	w, cache, old := fencedBehind(t)
	w.set("c2", facts(3, fence, func(f *pb.ServiceFacts) { f.Pods[0].Fenced = false }))
	slow := true
	w.members["c2"].Fail(func(fleettest.Request) error {
		if slow { // its API server takes longer than a write is waited for to be seen
			slow = false
			w.ahead += unseenFor + time.Second
		}
		return nil
	})
	if c := w.look().Status.Clusters[1]; c.RefencedAt == nil || slow {
		t.Fatalf("a pod is open: %+v", c)
	}
	cache.old = old
	w.set("c2", facts(3, fence))
	w.look()
	cache.old = nil
	if c := w.service().Status.Clusters[1]; c.RefencedAt == nil {
		t.Errorf("it is forgotten: %+v", c)
	}
}
