// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/controllers/tracing"
	"github.com/weir-io/weir/mesh/shift"
)

// FieldManager owns the plan in a GlobalService's spec, and shift and steps in its status.
const FieldManager = hub.PlanManager

// lookAgain is how soon a service under way is looked at without an event: limits and leases pass by the clock.
const lookAgain = time.Second

// Reconciler plans the moves of every GlobalService.
type Reconciler struct {
	Client   client.Client
	Recorder events.EventRecorder
	Tracer   *tracing.Tracer
	Now      func() time.Time

	sights sights
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).
		Named("shift").
		For(&v1alpha1.GlobalService{}).
		Watches(&v1alpha1.ClusterDrain{}, handler.EnqueueRequestsFromMapFunc(r.servicesOf)).
		Watches(&v1alpha1.ResourceBinding{}, handler.EnqueueRequestsFromMapFunc(r.servicesOfBinding)).
		Complete(r)
}

// servicesOf returns all services: a drain changes what each of them may do.
func (r *Reconciler) servicesOf(ctx context.Context, _ client.Object) []reconcile.Request {
	var list v1alpha1.GlobalServiceList
	if err := r.Client.List(ctx, &list); err != nil {
		logf.FromContext(ctx).Error(err, "list global services")
		return nil
	}
	out := make([]reconcile.Request, 0, len(list.Items))
	for _, gs := range list.Items {
		out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: gs.Namespace, Name: gs.Name}})
	}
	return out
}

// servicesOfBinding returns the services behind which a federated workload is.
func (r *Reconciler) servicesOfBinding(ctx context.Context, binding client.Object) []reconcile.Request {
	var list v1alpha1.GlobalServiceList
	if err := r.Client.List(ctx, &list, client.InNamespace(binding.GetNamespace())); err != nil {
		logf.FromContext(ctx).Error(err, "list global services")
		return nil
	}
	var out []reconcile.Request
	for _, gs := range list.Items {
		if slices.Contains(gs.Bindings(), client.ObjectKeyFromObject(binding).String()) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&gs)})
		}
	}
	return out
}

// Reconcile gathers, asks for the next step, and writes it down.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var gs v1alpha1.GlobalService
	if err := r.Client.Get(ctx, req.NamespacedName, &gs); err != nil {
		if apierrors.IsNotFound(err) {
			r.sights.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	now := r.Now()
	waits := gs // as it is, with times to count waits from
	waits.Status.Steps = r.sights.counted(req.NamespacedName, gs.Status.Steps, now)
	if !ready(&gs) {
		return ctrl.Result{}, nil
	}
	drains, binding, err := r.wishes(ctx, &gs)
	if err != nil {
		return ctrl.Result{}, err
	}
	state := stateOf(&waits, binding, drains, now)
	moving := slices.ContainsFunc(state.Clusters, func(c shift.Cluster) bool { return c.Goal != shift.Stay })
	if moving && gs.Spec.Record == nil {
		return r.open(ctx, &gs, state)
	}
	if err := shift.Validate(state); err != nil {
		return ctrl.Result{}, fmt.Errorf("global service %s: %w", req.NamespacedName, err)
	}
	step, blocked, err := r.together(ctx, &gs, binding, state, now)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan, err := planOf(gs.Spec, state, step)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.write(ctx, &gs, drains, step, blocked, plan); err != nil {
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: lookAgain}, nil
		}
		return ctrl.Result{}, fmt.Errorf("global service %s: %w", req.NamespacedName, err)
	}
	if moving || gs.Spec.Record != nil || len(blocked) > 0 {
		return ctrl.Result{RequeueAfter: lookAgain}, nil
	}
	return ctrl.Result{}, nil
}

// wishes returns what is asked for around a service: the drains that it is part of, and the decision about the workload
// behind it, nil where that is none of weir's.
func (r *Reconciler) wishes(ctx context.Context, gs *v1alpha1.GlobalService) ([]v1alpha1.ClusterDrain, *v1alpha1.ResourceBinding, error) {
	drains, err := r.drainsOf(ctx, gs)
	if err != nil {
		return nil, nil, err
	}
	binding, err := r.bindingOf(ctx, gs)
	if err != nil {
		return nil, nil, err
	}
	return drains, binding, nil
}

// next is the next step, and what is waited for, with what only the objects tell: which budget it is, and that a member was
// not seen yet to do what is planned for it.
func next(gs *v1alpha1.GlobalService, binding *v1alpha1.ResourceBinding, state shift.State) (shift.Step, []shift.Blocked) {
	step, blocked := shift.Next(state)
	if binding == nil {
		return step, blocked
	}
	step.Finished = slices.DeleteFunc(step.Finished, func(name string) bool { return !carriedOut(gs, binding, name) })
	return step, named(blocked, gs, binding, state.Demand)
}

// ready says whether the last plan was carried out and something is known of the service: before that there is
// nothing to plan on. A service that was deleted is planned on: it is held until no member has it.
func ready(gs *v1alpha1.GlobalService) bool {
	return gs.Status.ObservedGeneration == gs.Generation &&
		len(gs.Status.Clusters) > 0 && !stopped(gs.Status.Conditions)
}

// stopped says whether nothing is written for the service, whatever the plan: it was not carried out then, and a step on top
// of it would be one that nobody takes, again and again. What others wrote stops a move too, and is told as a reason to wait.
func stopped(conditions []metav1.Condition) bool {
	c := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	return c != nil && c.Status != metav1.ConditionTrue && slices.Contains([]string{
		v1alpha1.ReasonNotSupported, v1alpha1.ReasonBadAnnotation, v1alpha1.ReasonBudgetExceeded, "NotRenderable", v1alpha1.ReasonLookingForRules,
	}, c.Reason)
}

func (r *Reconciler) drainsOf(ctx context.Context, gs *v1alpha1.GlobalService) ([]v1alpha1.ClusterDrain, error) {
	var list v1alpha1.ClusterDrainList
	if err := r.Client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list cluster drains: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(d v1alpha1.ClusterDrain) bool {
		return !slices.ContainsFunc(gs.Status.Clusters, func(c v1alpha1.GlobalServiceClusterStatus) bool {
			return c.Name == d.Spec.ClusterName
		})
	}), nil
}

// bindingOf reads the binding of the workload that weir owns behind a service; nil: its pods are not weir's.
func (r *Reconciler) bindingOf(ctx context.Context, gs *v1alpha1.GlobalService) (*v1alpha1.ResourceBinding, error) {
	namespace, name, ok := strings.Cut(gs.Binding(), "/")
	if !ok {
		return nil, nil //nolint:nilnil // no binding is an answer.
	}
	var out v1alpha1.ResourceBinding
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &out)
	switch {
	case apierrors.IsNotFound(err) || err == nil && !out.DeletionTimestamp.IsZero():
		return nil, nil //nolint:nilnil // who wanted the workload divided is gone.
	case err != nil:
		return nil, fmt.Errorf("read binding %s/%s: %w", namespace, name, err)
	}
	return &out, nil
}

// open writes down what stands, before the first step of a move.
func (r *Reconciler) open(ctx context.Context, gs *v1alpha1.GlobalService, state shift.State) (ctrl.Result, error) {
	spec := *gs.Spec.DeepCopy()
	spec.Clusters = mergeClusters(gs.Spec.Clusters, state)
	spec.Record = recordOf(state, hub.Time(r.Now()))
	_, err := hub.ApplySpec(ctx, r.Client, FieldManager, gs, gs.ResourceVersion, spec)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: lookAgain}, nil
	}
	return ctrl.Result{}, err
}

// write keeps the step in status first and in the plan second: a step that was planned is always on record.
func (r *Reconciler) write(ctx context.Context, gs *v1alpha1.GlobalService, drains []v1alpha1.ClusterDrain,
	step shift.Step, blocked []shift.Blocked, plan v1alpha1.GlobalServiceSpec,
) error {
	records := r.recordsOf(gs, drains, step, plan)
	status := statusOf(gs, step, blocked, records, r.Now())
	version := gs.ResourceVersion
	if !equality.Semantic.DeepEqual(status, ownStatus(gs)) {
		applied, err := hub.ApplyStatus(ctx, r.Client, FieldManager, gs, version, status)
		if err != nil {
			return err
		}
		version = applied.GetResourceVersion()
		r.notice(gs, status.Shift.Notices)
	}
	for _, record := range records {
		r.Tracer.Step(gs, drains, record)
		r.Recorder.Eventf(gs, nil, corev1.EventTypeNormal, record.Kind, "Shift", "%s", record.Message)
		logf.FromContext(ctx).Info("step", "kind", record.Kind, "goal", record.Goal, "cluster", record.Cluster, "generation", record.Generation)
	}
	if equality.Semantic.DeepEqual(plan, gs.Spec) {
		return nil
	}
	_, err := hub.ApplySpec(ctx, r.Client, FieldManager, gs, version, plan)
	return err
}

// notice makes an event of each notice that is new. One whose numbers alone changed is not.
func (r *Reconciler) notice(gs *v1alpha1.GlobalService, notices []v1alpha1.Notice) {
	for _, n := range notices {
		known := func(o v1alpha1.Notice) bool {
			return o.Code == n.Code && o.Cluster == n.Cluster && o.Subject == n.Subject
		}
		if !slices.ContainsFunc(gs.Status.Shift.Notices, known) {
			r.Recorder.Eventf(gs, nil, corev1.EventTypeNormal, n.Code, "Shift", "%s", n.Message)
		}
	}
}
