// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/resview/stream"
)

// objectsAtOnce is how many federated objects are worked on at once.
const objectsAtOnce = 8

// ofSpecs lets through what changes a spec, or makes or deletes an object. What is written into a status is told by those
// who write it, this package among them, and is no reason to look at members again.
var ofSpecs = builder.WithPredicates(predicate.GenerationChangedPredicate{})

// SetupWithManager starts the controller with the manager.
func (r *Deployments) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).
		Named("sync-deployment").
		WithOptions(controller.Options{MaxConcurrentReconciles: objectsAtOnce}).
		For(&v1alpha1.FederatedDeployment{}, ofSpecs).
		Watches(&v1alpha1.ResourceBinding{}, handler.EnqueueRequestsFromMapFunc(ownerOf), ofSpecs).
		Watches(&v1alpha1.Work{}, handler.EnqueueRequestsFromMapFunc(federated(deployments.kind)), ofSpecs).
		WatchesRawSource(&hub.Changes{Members: r.members, Concerns: r.concerns}).
		Complete(r)
}

// SetupWithManager starts the controller with the manager.
func (r *Services) SetupWithManager(m ctrl.Manager) error {
	everyOne := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
		var list v1alpha1.FederatedServiceList
		if err := r.Client.List(ctx, &list); err != nil {
			logf.FromContext(ctx).Error(err, "list federated services")
			return nil
		}
		out := make([]reconcile.Request, 0, len(list.Items))
		for i := range list.Items {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
		return out
	})
	return ctrl.NewControllerManagedBy(m).
		Named("sync-service").
		WithOptions(controller.Options{MaxConcurrentReconciles: objectsAtOnce}).
		For(&v1alpha1.FederatedService{}, ofSpecs).
		Watches(&v1alpha1.Work{}, handler.EnqueueRequestsFromMapFunc(federated(services.kind)), ofSpecs).
		Watches(&v1alpha1.Cluster{}, everyOne, builder.WithPredicates(predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}))).
		Complete(r)
}

// ownerOf is the federated workload that a binding is of.
func ownerOf(_ context.Context, o client.Object) []reconcile.Request {
	for _, owner := range o.GetOwnerReferences() {
		if owner.Kind == "FederatedDeployment" {
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: owner.Name}}}
		}
	}
	return nil
}

// federated is the federated object that a Work is of.
func federated(kind string) handler.MapFunc {
	return func(_ context.Context, o client.Object) []reconcile.Request {
		labels := o.GetLabels()
		if labels[v1alpha1.LabelWorkKind] != strings.ToLower(kind) {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{
			Namespace: labels[v1alpha1.LabelWorkNamespace], Name: labels[v1alpha1.LabelWorkName],
		}}}
	}
}

// concerns are the workloads that may stand behind the Services of which something was heard.
func (r *Deployments) concerns(ctx context.Context, changes []stream.Change) []reconcile.Request {
	in := map[string]map[string]bool{} // namespace → clusters
	for _, change := range changes {
		if namespace := change.Service.Namespace; namespace != "" {
			if in[namespace] == nil {
				in[namespace] = map[string]bool{}
			}
			in[namespace][change.Cluster] = true
		}
	}
	var out []reconcile.Request
	for namespace, clusters := range in {
		var list v1alpha1.ResourceBindingList
		if err := r.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			logf.FromContext(ctx).Error(err, "list resource bindings", "namespace", namespace)
			continue
		}
		for i := range list.Items {
			b := &list.Items[i]
			if slices.ContainsFunc(b.Spec.Plan, func(p v1alpha1.ClusterReplicas) bool { return clusters[p.Name] }) {
				out = append(out, ownerOf(ctx, b)...)
			}
		}
	}
	return out
}
