// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
)

var serviceKey = client.ObjectKey{Namespace: "demo", Name: "echo"}

// world is a hub with one service, the reconciler, and what the rest of weir does with its plans.
type world struct {
	*testing.T

	hub      client.WithWatch
	r        *Reconciler
	recorder *events.FakeRecorder
	now      time.Time

	planned  []v1alpha1.GlobalServiceSpec // every plan that was written, in order
	recorded []v1alpha1.StepRecord        // the newest step that was on record as it was
	onPlan   func() error                 // asked before a plan is written
	onStatus func() error                 // asked before a status is written
}

func newWorld(t *testing.T, gs *v1alpha1.GlobalService, drains ...v1alpha1.ClusterDrain) *world {
	t.Helper()
	w := &world{T: t, now: now, recorder: events.NewFakeRecorder(1000)}
	objects := []client.Object{gs}
	for i := range drains {
		objects = append(objects, &drains[i])
	}
	w.hub = fleettest.Hub(t, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if w.onPlan != nil {
				if err := w.onPlan(); err != nil {
					return err
				}
			}
			err := c.Apply(ctx, o, opts...)
			if err == nil {
				gs, last := w.service(), v1alpha1.StepRecord{} //nolint:contextcheck // the test's own context.
				if n := len(gs.Status.Steps); n > 0 {
					last = gs.Status.Steps[n-1]
				}
				w.planned, w.recorded = append(w.planned, gs.Spec), append(w.recorded, last)
			}
			return err
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			if w.onStatus != nil {
				if err := w.onStatus(); err != nil {
					return err
				}
			}
			return c.SubResource(sub).Apply(ctx, o, opts...)
		},
	}, objects...)
	w.r = &Reconciler{Client: w.hub, Recorder: w.recorder, Now: func() time.Time { return w.now }}
	return w
}

func (w *world) service() *v1alpha1.GlobalService {
	w.Helper()
	var gs v1alpha1.GlobalService
	if err := w.hub.Get(w.Context(), serviceKey, &gs); err != nil {
		w.Fatal(err)
	}
	return &gs
}

// step lets a second pass and reconciles once.
func (w *world) step() (ctrl.Result, error) {
	w.Helper()
	w.now = w.now.Add(time.Second)
	return w.r.Reconcile(w.Context(), ctrl.Request{NamespacedName: serviceKey})
}

// carryOut does with the plan what the rest of weir and the proxies do: it stands everywhere and is proven.
func (w *world) carryOut() {
	w.Helper()
	w.carry(w.service())
}

// carry does so for one service.
func (w *world) carry(gs *v1alpha1.GlobalService) {
	w.Helper()
	at := metav1.NewTime(w.now)
	proven := v1alpha1.ProofStatus{Level: v1alpha1.ProofProven, Lease: v1alpha1.LeaseHeld, SeenAt: &at, Generation: gs.Spec.Generation}
	gs.Status.Rules, gs.Status.Weights, gs.Status.Fence = proven, proven, proven
	gs.Status.Fence.Generation = gs.Spec.FenceGeneration
	var idle int64
	for i := range gs.Status.Clusters {
		c := &gs.Status.Clusters[i]
		c.Quiet, c.InFlight = v1alpha1.QuietQuiet, &idle
		for _, p := range gs.Spec.Clusters {
			if p.Name == c.Name {
				if p.Fence == v1alpha1.FenceKeep {
					c.Fenced = min(c.Fenced, p.FencedPods)
				} else {
					c.Fenced = min(p.FencedPods, c.Ready)
				}
				c.Weight = v1alpha1.WeightStatus{Wanted: p.Weight, Written: p.Weight, ProvenLow: p.Weight, ProvenHigh: p.Weight}
			}
		}
		if gs.Spec.Phase != v1alpha1.RulesWeights {
			c.Weight = v1alpha1.WeightStatus{ProvenHigh: 1000}
		}
	}
	if err := w.hub.Status().Update(w.Context(), gs, client.FieldOwner("world")); err != nil {
		w.Fatal(err)
	}
}

// settle plans and carries out until a look changes nothing any more.
func (w *world) settle() *v1alpha1.GlobalService {
	w.Helper()
	for range 100 {
		before := len(w.planned)
		steps := len(w.service().Status.Steps)
		if _, err := w.step(); err != nil {
			w.Fatal(err)
		}
		w.carryOut()
		if gs := w.service(); len(w.planned) == before && len(gs.Status.Steps) == steps {
			return gs
		}
	}
	w.Fatalf("after a hundred looks it still moves: %+v", w.service().Status.Shift)
	return nil
}

// ask sets the goal of a drain from now on, as its controller does.
func (w *world) ask(cluster string, goal v1alpha1.GoalKind) {
	w.Helper()
	w.now = w.now.Add(time.Second)
	d := drainOf(cluster, "", 0)
	err := w.hub.Get(w.Context(), client.ObjectKeyFromObject(&d), &d)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	if err != nil {
		if err := w.hub.Create(w.Context(), &d); err != nil {
			w.Fatal(err)
		}
	}
	since := metav1.NewTime(w.now)
	d.Status.Goal, d.Status.StartedAt = goal, &since
	if err := w.hub.Status().Update(w.Context(), &d); err != nil {
		w.Fatal(err)
	}
}

// kinds are the steps that are on record, the oldest first.
func kinds(gs *v1alpha1.GlobalService) []string {
	var out []string
	for _, s := range gs.Status.Steps {
		out = append(out, s.Kind)
	}
	return out
}

func weights(gs *v1alpha1.GlobalService) map[string]int32 {
	out := map[string]int32{}
	for _, c := range gs.Spec.Clusters {
		out[c.Name] = c.Weight
	}
	return out
}

func doneSince(gs *v1alpha1.GlobalService, cluster string, goal v1alpha1.GoalKind, since time.Time) bool {
	return slices.ContainsFunc(gs.Status.Steps, func(s v1alpha1.StepRecord) bool {
		return s.Kind == "Done" && s.Cluster == cluster && s.Goal == goal && !s.StartedAt.Time.Before(since)
	})
}
