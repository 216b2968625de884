// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servicedns

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

// gathering is how long a look waits for more to happen, so that what comes at once makes one table.
const gathering = 20 * time.Millisecond

// triesAgain is the longest pause before what failed is tried again: one service that cannot be written must not delay what
// is told of others.
const triesAgain = 2 * time.Second

// all is the one request there is.
var all = reconcile.Request{NamespacedName: types.NamespacedName{Name: "names"}}

// SetupWithManager starts the controller with the manager. It looks once when everything was listed, so that a hub without
// a service has a table too, and can say that a name does not exist.
func (r *Reconciler) SetupWithManager(m ctrl.Manager) error {
	look := hub.Pass(all, gathering, matters)
	return ctrl.NewControllerManagedBy(m).
		Named("servicedns").
		Watches(&v1alpha1.GlobalService{}, look).
		Watches(&v1alpha1.Cluster{}, look).
		Watches(&v1alpha1.ClusterDrain{}, look).
		WatchesRawSource(source.Func(func(_ context.Context, q hub.Queue) error {
			q.Add(all)
			return nil
		})).
		WithOptions(controller.Options{
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](gathering, triesAgain),
		}).
		Complete(r)
}

// matters says whether an update may change what is answered or told: most say only that something was seen again.
func matters(before, now client.Object) bool {
	if before.GetGeneration() != now.GetGeneration() {
		return true
	}
	switch n := now.(type) {
	case *v1alpha1.Cluster:
		b, ok := before.(*v1alpha1.Cluster)
		return !ok || !slices.Equal(b.Status.IngressAddresses, n.Status.IngressAddresses)
	case *v1alpha1.GlobalService:
		b, ok := before.(*v1alpha1.GlobalService)
		return !ok || !equality.Semantic.DeepEqual(ownStatus(b), ownStatus(n)) ||
			!equality.Semantic.DeepEqual(b.Status.NameWishes, n.Status.NameWishes) ||
			!slices.EqualFunc(b.Status.Clusters, n.Status.Clusters, sameWeight)
	}
	return true
}

// sameWeight says whether two lines of a member come to the same weight under any plan.
func sameWeight(a, b v1alpha1.GlobalServiceClusterStatus) bool {
	return a.Name == b.Name && a.Replicas == b.Replicas && (a.Ready > a.Fenced) == (b.Ready > b.Fenced)
}
