// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package binding

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

// FieldManager owns the wish part of a ResourceBinding's spec, and the status of a ReplicaSchedulingPreference.
const FieldManager = "weir-binding"

// Reconciler keeps the wish of every FederatedDeployment.
type Reconciler struct {
	Client client.Client
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(m ctrl.Manager) error {
	target := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		if p, ok := o.(*v1alpha1.ReplicaSchedulingPreference); ok {
			return []reconcile.Request{{NamespacedName: names(p)}}
		}
		return nil
	})
	specs := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	return ctrl.NewControllerManagedBy(m).
		Named("binding").
		For(&v1alpha1.FederatedDeployment{}, specs).
		Owns(&v1alpha1.ResourceBinding{}, specs).
		Watches(&v1alpha1.ReplicaSchedulingPreference{}, target, specs).
		Complete(r)
}

// Reconcile writes the wish, and says of each preference for the workload whether it is in force.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	in, err := r.gather(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	for i := range in.preferences {
		if err := r.answer(ctx, in, &in.preferences[i]); err != nil {
			return ctrl.Result{}, err
		}
	}
	if in.workload == nil {
		return ctrl.Result{}, nil
	}
	wish, errs := wishOf(in)
	if len(errs) > 0 {
		// Who made it is told in the workload's own status, by the controller that sums it up.
		return ctrl.Result{}, nil
	}
	err = r.write(ctx, in, &wish)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: hub.SoonAgain}, nil
	}
	return ctrl.Result{}, err
}

func (r *Reconciler) write(ctx context.Context, in *input, wish *v1alpha1.ResourceBindingSpec) error {
	yes := true
	// It does not block the owner's deletion: that would take a right on the finalizers of users' objects.
	owner := &metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "FederatedDeployment", Name: in.workload.Name, UID: in.workload.UID, Controller: &yes,
	}
	if stands(in.binding, wish, owner) {
		return nil
	}
	b := &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: in.key.Namespace, Name: in.workload.BindingName(), OwnerReferences: []metav1.OwnerReference{*owner},
	}}
	version := ""
	if in.binding != nil {
		version = in.binding.ResourceVersion
	}
	if _, err := hub.ApplySpec(ctx, r.Client, FieldManager, b, version, wish); err != nil {
		return fmt.Errorf("ResourceBinding %s/%s: write the wish: %w", b.Namespace, b.Name, err)
	}
	return nil
}

func (r *Reconciler) answer(ctx context.Context, in *input, p *v1alpha1.ReplicaSchedulingPreference) error {
	status := answer(in, p)
	if equality.Semantic.DeepEqual(status, p.Status) {
		return nil
	}
	if _, err := hub.ApplyStatus(ctx, r.Client, FieldManager, p, "", status); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("ReplicaSchedulingPreference %s/%s: %w", p.Namespace, p.Name, err)
	}
	return nil
}
