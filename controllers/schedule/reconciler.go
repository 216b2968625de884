// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/sched"
	"github.com/weir-io/weir/sched/filter"
)

// FieldManager owns decision and plan in a ResourceBinding's spec, and what is said of both in its status.
const FieldManager = "weir-schedule"

// Reconciler decides about all ResourceBindings. One goroutine passes at a time.
type Reconciler struct {
	Client   client.Client
	Views    Views
	Recorder events.EventRecorder
	Now      func() time.Time
	Metrics  *Metrics // nil: none are kept

	shapes shapes
	fleet  map[string]offer // as of the last pass; nil: there was none
	known  map[types.NamespacedName]*memory
	owed   map[types.NamespacedName]why // of decisions that could not be written
}

// Reconcile makes one pass over everything; the request says nothing.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if r.known == nil {
		r.known, r.shapes, r.owed = map[types.NamespacedName]*memory{}, shapes{}, map[types.NamespacedName]why{}
	}
	begun := r.Now()
	in, err := r.gather(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.watch(in)
	// What everybody was asked about. A decision may look at the fleet once more, and what it sees then is news to all others.
	fleet := offers(in.views, in.kinds())
	due := r.due(in, fleet)
	answers := map[types.NamespacedName]*answer{}
	if len(due) > 0 {
		due, err = decide(in, due, func() ([]sched.ClusterView, error) { return r.views(ctx, r.Now()) })
		if err != nil {
			return ctrl.Result{}, fmt.Errorf("decide about %s: %w", hub.Count(len(due), "workload"), err)
		}
		for i := range due {
			answers[due[i].entry.key()] = &due[i]
		}
	}
	again, failed := r.write(ctx, in, answers)
	r.fleet = fleet
	r.forget(in)
	r.Metrics.pass(in, due, r.Now().Sub(begun))
	return ctrl.Result{RequeueAfter: again}, failed
}

// due are the workloads to decide about on the fleet of now, with the reasons.
func (r *Reconciler) due(in *input, now map[string]offer) []answer {
	var fleet *why
	if r.fleet != nil {
		fleet = changed(r.fleet, now)
	}
	versions, drained, sound := versionsOf(in.views), map[string]bool{}, sound(in.views)
	for i := range in.views {
		drained[in.views[i].Cluster] = in.views[i].Duty == filter.Drained
	}
	var out []answer
	for _, e := range in.entries {
		w := reason(e, r.known[e.key()], fleet, drained, sound, versions, in.now)
		if owed, ok := r.owed[e.key()]; ok {
			w = owed.with(w)
		}
		if w != nil {
			out = append(out, answer{entry: e, why: *w})
		}
	}
	return out
}

// planOf is what the members shall hold now of a workload.
func planOf(e *entry, target []v1alpha1.BindingCluster, in *input) move {
	b := *e.binding
	b.Spec.Clusters = target
	return steered(&b, plain(places(e, target, in.views), b.Spec.Replicas, b.Status.ObservedGeneration == b.Generation), in.services)
}

func (r *Reconciler) remember(e *entry, a *answer, versions uint64, now time.Time) {
	m := r.known[e.key()]
	if m == nil {
		m = &memory{rebalanced: now}
		if n := len(e.binding.Status.History); n > 0 && a.why.trigger != v1alpha1.TriggerCreated {
			m.rebalanced = e.binding.Status.History[n-1].Time.Time
		}
		r.known[e.key()] = m
	}
	if a.why.rebalance {
		m.rebalanced = now
	}
	m.wish, m.preference, m.views, m.decided = wishOf(e.binding), preferenceOf(e.binding), versions, now
}

// forget drops what is remembered of workloads that are gone.
func (r *Reconciler) forget(in *input) {
	there := make(map[types.NamespacedName]bool, len(in.entries))
	for _, e := range in.entries {
		there[e.key()] = true
	}
	gone := func(key types.NamespacedName) bool { return !there[key] }
	maps.DeleteFunc(r.known, func(key types.NamespacedName, _ *memory) bool { return gone(key) })
	maps.DeleteFunc(r.owed, func(key types.NamespacedName, _ why) bool { return gone(key) })
}

// tell makes an event of each turn of Scheduled, about the workload that the user wrote.
func (r *Reconciler) tell(e *entry, out *result, before []metav1.Condition) {
	now := meta.FindStatusCondition(out.status.Conditions, v1alpha1.ConditionScheduled)
	old := meta.FindStatusCondition(before, v1alpha1.ConditionScheduled)
	if old != nil && old.Status == now.Status && old.Reason == now.Reason {
		return
	}
	kind := corev1.EventTypeNormal
	if now.Status != metav1.ConditionTrue {
		kind = corev1.EventTypeWarning
	}
	r.Recorder.Eventf(e.workload, nil, kind, now.Reason, now.Type, "%s", now.Message)
}
