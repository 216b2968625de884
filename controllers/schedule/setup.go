// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

// gathering is how long a pass waits for more to happen: what comes at once is decided at once.
const gathering = 50 * time.Millisecond

// all is the one request there is.
var all = reconcile.Request{NamespacedName: types.NamespacedName{Name: "fleet"}}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(m ctrl.Manager) error {
	pass := hub.Pass(all, gathering, matters)
	return ctrl.NewControllerManagedBy(m).
		Named("schedule").
		Watches(&v1alpha1.ResourceBinding{}, pass).
		Watches(&v1alpha1.Cluster{}, pass).
		Watches(&v1alpha1.ClusterDrain{}, pass).
		Watches(&v1alpha1.GlobalService{}, pass).
		Complete(r)
}

// matters says whether an update may change what a pass comes to: most say only that something was seen again.
func matters(before, now client.Object) bool {
	if before.GetGeneration() != now.GetGeneration() || !maps.Equal(before.GetLabels(), now.GetLabels()) ||
		before.GetDeletionTimestamp().IsZero() != now.GetDeletionTimestamp().IsZero() {
		return true
	}
	switch n := now.(type) {
	case *v1alpha1.ResourceBinding:
		b, ok := before.(*v1alpha1.ResourceBinding)
		return !ok || b.Status.ObservedGeneration != n.Status.ObservedGeneration || b.Status.Unplaced != n.Status.Unplaced ||
			!slices.EqualFunc(b.Status.Clusters, n.Status.Clusters, sameSight)
	case *v1alpha1.Cluster:
		b, ok := before.(*v1alpha1.Cluster)
		return !ok || healthOf(b) != healthOf(n)
	case *v1alpha1.GlobalService:
		b, ok := before.(*v1alpha1.GlobalService)
		return !ok || !sameShift(b, n)
	}
	return true
}

// sameShift says whether a service says the same of whose pods it has, and of what its shift waits for.
func sameShift(a, b *v1alpha1.GlobalService) bool {
	return slices.Equal(a.Bindings(), b.Bindings()) && a.Binding() == b.Binding() &&
		len(a.Status.Clusters) == len(b.Status.Clusters) && len(a.Status.Foreign) == len(b.Status.Foreign) &&
		equality.Semantic.DeepEqual(a.Status.Shift, b.Status.Shift)
}

// sameSight says whether two lines of a member say the same of its replicas.
func sameSight(a, b v1alpha1.MemberReplicas) bool {
	a.SeenAt, b.SeenAt = nil, nil
	a.Message, b.Message = "", ""
	return a == b
}
