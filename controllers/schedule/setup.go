// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
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
		Complete(r)
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
