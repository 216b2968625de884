// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/shift"
)

// served is a chain whose workload is behind a global service, with the controller that moves both.
type served struct {
	*chain

	fenced map[string]int32 // pods that bear the fence
}

func newServed(t *testing.T) *served {
	t.Helper()
	c := newChain(t, parsed[v1alpha1.FederatedDeployment](t, strings.Replace(web, "replicas: 5", "replicas: 6", 1)))
	c.settle("c1:3 c2:3")
	s := &served{chain: c, fenced: map[string]int32{}}
	gs := &v1alpha1.GlobalService{}
	gs.Namespace, gs.Name = key.Namespace, key.Name
	if err := c.Create(t.Context(), gs); err != nil {
		t.Fatal(err)
	}
	s.mesh()
	return s
}

func (s *served) service() *v1alpha1.GlobalService {
	s.Helper()
	gs := &v1alpha1.GlobalService{}
	if err := s.Get(s.Context(), key, gs); err != nil {
		s.Fatal(err)
	}
	return gs
}

// mesh does what the rest of weir and the proxies do: the plan stands and is proven, pods that are to be fenced are, and
// members tell whose they are.
func (s *served) mesh() {
	s.Helper()
	gs := s.service()
	at := metav1.NewTime(s.now)
	proven := v1alpha1.ProofStatus{Level: v1alpha1.ProofProven, Lease: v1alpha1.LeaseHeld, SeenAt: &at, Generation: gs.Spec.Generation}
	gs.Status.ObservedGeneration = gs.Generation
	gs.Status.Rules, gs.Status.Weights, gs.Status.Fence = proven, proven, proven
	gs.Status.Fence.Generation = gs.Spec.FenceGeneration
	gs.Status.Clusters = nil
	var idle int64
	for _, name := range []string{"c1", "c2"} {
		d := s.deployment(name)
		line := v1alpha1.GlobalServiceCluster{}
		if i := slices.IndexFunc(gs.Spec.Clusters, func(c v1alpha1.GlobalServiceCluster) bool { return c.Name == name }); i >= 0 {
			line = gs.Spec.Clusters[i]
		}
		ready := d.Status.ReadyReplicas
		if line.Fence == v1alpha1.FenceKeep {
			s.fenced[name] = min(s.fenced[name], line.FencedPods, ready)
		} else {
			s.fenced[name] = min(line.FencedPods, ready)
		}
		gs.Status.Clusters = append(gs.Status.Clusters, v1alpha1.GlobalServiceClusterStatus{
			Name: name, Binding: d.Annotations[v1alpha1.AnnotationBinding], Sight: v1alpha1.SightSeen,
			Replicas: *d.Spec.Replicas, Ready: ready, Fenced: s.fenced[name], Quiet: v1alpha1.QuietQuiet, InFlight: &idle,
			Weight: v1alpha1.WeightStatus{Wanted: line.Weight, Written: line.Weight, ProvenLow: line.Weight, ProvenHigh: line.Weight},
		})
	}
	if err := s.Status().Update(s.Context(), gs); err != nil {
		s.Fatal(err)
	}
}

// turn lets every controller look once. Pods that go must be fenced, and what serves must carry all that there was.
func (s *served) turn() string {
	s.Helper()
	s.now = s.now.Add(time.Second)
	before := map[string]int32{}
	for _, name := range []string{"c1", "c2"} {
		before[name] = *s.deployment(name).Spec.Replicas
	}
	r := &shift.Reconciler{Client: s, Recorder: s.told, Now: s.d.Now}
	if _, err := r.Reconcile(s.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		s.Fatal(err)
	}
	fenced := map[string]int32{"c1": s.fenced["c1"], "c2": s.fenced["c2"]}
	held := s.chain.turn(true)
	for name, n := range before {
		if now := *s.deployment(name).Spec.Replicas; n-now > fenced[name] {
			s.Fatalf("%s goes from %d to %d with %d fenced", name, n, now, fenced[name])
		}
		s.fenced[name] = max(0, fenced[name]-max(0, n-*s.deployment(name).Spec.Replicas))
	}
	s.mesh()
	var open int32
	for _, c := range s.service().Status.Clusters {
		open += c.Ready - c.Fenced
	}
	if open < 6 {
		s.Fatalf("%d pods serve: %s, %+v", open, held, s.service().Spec.Clusters)
	}
	return held
}

func (s *served) until(want string) {
	s.Helper()
	for range 80 {
		if s.turn() == want && s.service().Status.Shift.Step == "Done" {
			return
		}
	}
	gs := s.service()
	s.Fatalf("want %s: %+v, %+v, plan %+v", want, gs.Spec, gs.Status.Shift, s.binding().Spec)
}

// goal sets what a drain is for, as its controller does.
func (s *served) goal(d *v1alpha1.ClusterDrain, goal v1alpha1.GoalKind) {
	s.Helper()
	if err := s.Get(s.Context(), client.ObjectKeyFromObject(d), d); err != nil {
		s.Fatal(err)
	}
	at := metav1.NewTime(s.now)
	d.Status.Goal, d.Status.StartedAt = goal, &at
	if err := s.Status().Update(s.Context(), d); err != nil {
		s.Fatal(err)
	}
}

// reached says whether the goal of a drain is met, as its controller sees it.
func (s *served) reached(cluster string, goal v1alpha1.GoalKind) bool {
	return slices.ContainsFunc(s.service().Status.Steps, func(r v1alpha1.StepRecord) bool {
		return r.Kind == "Done" && r.Cluster == cluster && r.Goal == goal
	})
}

func TestAServedWorkloadIsDrainedGivenBackAndScaledInOnePlan(t *testing.T) {
	s := newServed(t)
	s.until("c1:3 c2:3")
	d := s.drain("c1")
	s.goal(d, v1alpha1.GoalDrain)
	s.until("c1:0 c2:6")
	gs := s.service()
	if gs.Spec.Clusters[0].Weight != 0 || !s.reached("c1", v1alpha1.GoalDrain) {
		t.Errorf("drained: %+v", gs.Spec)
	}
	s.goal(d, v1alpha1.GoalUndrain)
	for range 80 {
		if s.turn(); s.reached("c1", v1alpha1.GoalUndrain) {
			break
		}
	}
	s.goal(d, "")
	s.until("c1:3 c2:3")
	if gs = s.service(); gs.Spec.Clusters[0].Weight != 500 || gs.Spec.Record != nil || gs.Spec.Clusters[0].NewPods != v1alpha1.PodsOpen {
		t.Errorf("given back: %+v", gs.Spec)
	}
	s.changeWorkload(func(d *v1alpha1.FederatedDeployment) { n := int32(10); d.Spec.Template.Spec.Replicas = &n })
	s.until("c1:5 c2:5")
}

func TestAServedWorkloadWhoseDrainIsAbortedReturns(t *testing.T) {
	s := newServed(t)
	s.until("c1:3 c2:3")
	d := s.drain("c1")
	s.goal(d, v1alpha1.GoalDrain)
	for s.service().Status.Shift.Step != "Fence" {
		s.turn()
	}
	s.goal(d, v1alpha1.GoalAbort)
	for range 80 {
		if s.turn(); s.reached("c1", v1alpha1.GoalAbort) {
			break
		}
	}
	s.goal(d, "")
	s.until("c1:3 c2:3")
	if gs := s.service(); gs.Spec.Clusters[0].Weight != 500 || gs.Spec.Record != nil {
		t.Errorf("given back: %+v", gs.Spec)
	}
}
