// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

// FieldManager owns a TrafficPolicy's status.
const FieldManager = "weir-policy"

// Reconciler answers every TrafficPolicy.
type Reconciler struct {
	Client client.Client
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).Named("policy").For(&v1alpha1.TrafficPolicy{}).Complete(r)
}

// Reconcile writes the answer.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var p v1alpha1.TrafficPolicy
	if err := r.Client.Get(ctx, req.NamespacedName, &p); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	status := answer(&p)
	if equality.Semantic.DeepEqual(status, p.Status) {
		return ctrl.Result{}, nil
	}
	if _, err := hub.ApplyStatus(ctx, r.Client, FieldManager, &p, "", status); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("traffic policy %s: %w", req.NamespacedName, err))
	}
	return ctrl.Result{}, nil
}

// answer says whether the policy is served.
func answer(p *v1alpha1.TrafficPolicy) v1alpha1.TrafficPolicyStatus {
	status := *p.Status.DeepCopy()
	status.ObservedGeneration = p.Generation
	c := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Served",
		Message: "services may name this policy", ObservedGeneration: p.Generation,
	}
	if unserved := p.Spec.Unserved(); len(unserved) > 0 {
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonNotSupported
		c.Message = "this build does not serve " + strings.Join(unserved, ", ") + "; nothing is written for services that name this policy"
	}
	meta.SetStatusCondition(&status.Conditions, c)
	return status
}
