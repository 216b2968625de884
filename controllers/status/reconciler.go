// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

// FieldManager owns a FederatedDeployment's status, and Ready of its ResourceBinding.
const FieldManager = "weir-status"

// Reconciler sums up every FederatedDeployment.
type Reconciler struct {
	Client   client.Client
	Recorder events.EventRecorder
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).
		Named("status").
		For(&v1alpha1.FederatedDeployment{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&v1alpha1.ResourceBinding{}).
		Complete(r)
}

// Reconcile writes the sum.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var d v1alpha1.FederatedDeployment
	if err := r.Client.Get(ctx, req.NamespacedName, &d); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !d.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	in := &input{workload: &d}
	var b v1alpha1.ResourceBinding
	switch err := r.Client.Get(ctx, types.NamespacedName{Namespace: d.Namespace, Name: d.BindingName()}, &b); {
	case err == nil:
		in.binding = &b
	case !apierrors.IsNotFound(err):
		return ctrl.Result{}, fmt.Errorf("read the ResourceBinding of FederatedDeployment %s: %w", req.NamespacedName, err)
	}
	status := sum(in)
	if err := r.write(ctx, in, status); err != nil {
		return ctrl.Result{}, fmt.Errorf("FederatedDeployment %s: %w", req.NamespacedName, err)
	}
	return ctrl.Result{}, nil
}

func (r *Reconciler) write(ctx context.Context, in *input, status v1alpha1.FederatedDeploymentStatus) error {
	ready := *meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if err := r.writeBinding(ctx, in.binding, ready); err != nil {
		return err
	}
	d := in.workload
	if equality.Semantic.DeepEqual(status, d.Status) {
		return nil
	}
	name := &v1alpha1.FederatedDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}
	if _, err := hub.ApplyStatus(ctx, r.Client, FieldManager, name, "", status); client.IgnoreNotFound(err) != nil {
		return err
	}
	old := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionReady)
	if old != nil && old.Status == ready.Status && old.Reason == ready.Reason {
		return nil
	}
	kind := corev1.EventTypeNormal
	if ready.Status != metav1.ConditionTrue && ready.Reason != "Progressing" && ready.Reason != "Pending" && ready.Reason != "Moving" {
		kind = corev1.EventTypeWarning
	}
	r.Recorder.Eventf(d, nil, kind, ready.Reason, ready.Type, "%s", ready.Message)
	return nil
}

// writeBinding says of the binding, too, whether what was wanted runs.
func (r *Reconciler) writeBinding(ctx context.Context, b *v1alpha1.ResourceBinding, ready metav1.Condition) error {
	if b == nil {
		return nil
	}
	var own v1alpha1.ResourceBindingStatus
	old := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	if old != nil {
		own.Conditions = []metav1.Condition{*old}
	}
	ready.ObservedGeneration = b.Generation
	if !meta.SetStatusCondition(&own.Conditions, ready) {
		return nil
	}
	name := &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
	_, err := hub.ApplyStatus(ctx, r.Client, FieldManager, name, "", own)
	return client.IgnoreNotFound(err)
}
