// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-io/weir/api/v1alpha1"
)

// gathering is how long a pass waits for more to happen: what comes at once is decided at once.
const gathering = 20 * time.Millisecond

// all is the one request there is.
var all = reconcile.Request{NamespacedName: types.NamespacedName{Name: "fleet"}}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(m ctrl.Manager) error {
	pass := handler.Funcs{
		CreateFunc:  func(_ context.Context, _ event.CreateEvent, q queue) { q.AddAfter(all, gathering) },
		UpdateFunc:  func(_ context.Context, _ event.UpdateEvent, q queue) { q.AddAfter(all, gathering) },
		DeleteFunc:  func(_ context.Context, _ event.DeleteEvent, q queue) { q.AddAfter(all, gathering) },
		GenericFunc: func(_ context.Context, _ event.GenericEvent, q queue) { q.AddAfter(all, gathering) },
	}
	return ctrl.NewControllerManagedBy(m).
		Named("schedule").
		Watches(&v1alpha1.ResourceBinding{}, pass).
		Watches(&v1alpha1.Cluster{}, pass).
		Watches(&v1alpha1.ClusterDrain{}, pass).
		Watches(&v1alpha1.GlobalService{}, pass, builder.WithPredicates(plans)).
		Complete(r)
}

// plans lets through what of a service may change a plan of replicas: its own plan, and what it waits for. Its statistics
// change all the time.
var plans = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		old, ok := e.ObjectOld.(*v1alpha1.GlobalService)
		now, same := e.ObjectNew.(*v1alpha1.GlobalService)
		return !ok || !same || old.Generation != now.Generation ||
			!slices.Equal(old.Bindings(), now.Bindings()) || old.Binding() != now.Binding() ||
			len(old.Status.Clusters) != len(now.Status.Clusters) || len(old.Status.Foreign) != len(now.Status.Foreign) ||
			!equality.Semantic.DeepEqual(old.Status.Shift, now.Status.Shift)
	},
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
