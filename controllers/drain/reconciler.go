// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

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
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/controllers/tracing"
	"github.com/weir-io/weir/resview/stream"
)

// FieldManager owns a ClusterDrain's status.
const FieldManager = "weir-drain"

// Finalizer holds a deleted ClusterDrain until its cluster serves again.
const Finalizer = "weir.io/undrain"

const lookWhileMoving = time.Second

// Reconciler works for every ClusterDrain.
type Reconciler struct {
	Client   client.Client
	Members  *stream.Server
	Recorder events.EventRecorder
	Tracer   *tracing.Tracer
	Now      func() time.Time
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(m ctrl.Manager) error {
	all := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
		var list v1alpha1.ClusterDrainList
		if err := r.Client.List(ctx, &list); err != nil {
			logf.FromContext(ctx).Error(err, "list cluster drains")
			return nil
		}
		var out []reconcile.Request
		for _, d := range list.Items {
			out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Name: d.Name}})
		}
		return out
	})
	return ctrl.NewControllerManagedBy(m).
		Named("drain").
		For(&v1alpha1.ClusterDrain{}).
		Watches(&v1alpha1.GlobalService{}, all).
		Watches(&v1alpha1.Cluster{}, all).
		Complete(r)
}

// Reconcile sets the goal, sums up the services, and lets go of a deleted drain whose cluster serves again.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var d v1alpha1.ClusterDrain
	if err := r.Client.Get(ctx, req.NamespacedName, &d); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if d.DeletionTimestamp.IsZero() && controllerutil.AddFinalizer(&d, Finalizer) {
		if err := r.Client.Update(ctx, &d, client.FieldOwner(FieldManager)); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(ignoreConflict(err))
		}
		return ctrl.Result{}, nil
	}
	in, err := r.gather(ctx, &d)
	if err != nil {
		return ctrl.Result{}, err
	}
	status := statusOf(in)
	if err := r.write(ctx, in, status); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return ctrl.Result{RequeueAfter: lookWhileMoving}, nil
		}
		return ctrl.Result{}, fmt.Errorf("cluster drain %s: %w", d.Name, err)
	}
	if !d.DeletionTimestamp.IsZero() && status.Goal == "" && controllerutil.RemoveFinalizer(&d, Finalizer) {
		return ctrl.Result{}, client.IgnoreNotFound(ignoreConflict(r.Client.Update(ctx, &d, client.FieldOwner(FieldManager))))
	}
	if status.Goal != "" {
		return ctrl.Result{RequeueAfter: lookWhileMoving}, nil
	}
	return ctrl.Result{}, nil
}

func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// input is everything one look at a drain rests on.
type input struct {
	drain    *v1alpha1.ClusterDrain
	exists   bool // the Cluster does
	drains   []v1alpha1.ClusterDrain
	services []v1alpha1.GlobalService // of the drained cluster, sorted
	snapshot *stream.Snapshot         // nil: the member was never heard
	now      time.Time
}

func (r *Reconciler) gather(ctx context.Context, d *v1alpha1.ClusterDrain) (*input, error) {
	in := &input{drain: d, snapshot: r.Members.Snapshot(d.Spec.ClusterName), now: r.Now()}
	var cluster v1alpha1.Cluster
	switch err := r.Client.Get(ctx, types.NamespacedName{Name: d.Spec.ClusterName}, &cluster); {
	case err == nil:
		in.exists = true
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("cluster drain %s: read cluster %q: %w", d.Name, d.Spec.ClusterName, err)
	}
	var drains v1alpha1.ClusterDrainList
	if err := r.Client.List(ctx, &drains); err != nil {
		return nil, fmt.Errorf("list cluster drains: %w", err)
	}
	in.drains = drains.Items
	var services v1alpha1.GlobalServiceList
	if err := r.Client.List(ctx, &services); err != nil {
		return nil, fmt.Errorf("list global services: %w", err)
	}
	in.services = slices.DeleteFunc(services.Items, func(gs v1alpha1.GlobalService) bool {
		return !slices.ContainsFunc(gs.Status.Clusters, func(c v1alpha1.GlobalServiceClusterStatus) bool { return c.Name == d.Spec.ClusterName })
	})
	slices.SortFunc(in.services, func(a, b v1alpha1.GlobalService) int {
		return strings.Compare(keyOf(&a).String(), keyOf(&b).String())
	})
	return in, nil
}

func keyOf(gs *v1alpha1.GlobalService) types.NamespacedName {
	return types.NamespacedName{Namespace: gs.Namespace, Name: gs.Name}
}

func (r *Reconciler) write(ctx context.Context, in *input, status v1alpha1.ClusterDrainStatus) error {
	old := in.drain.Status
	if equality.Semantic.DeepEqual(old, status) {
		return nil
	}
	if _, err := hub.ApplyStatus(ctx, r.Client, FieldManager, in.drain, in.drain.ResourceVersion, status); err != nil {
		return err
	}
	r.tell(in, old, status)
	return nil
}

// tell makes an event of each turn, and sends the trace of a goal that was reached.
func (r *Reconciler) tell(in *input, old, status v1alpha1.ClusterDrainStatus) {
	for _, c := range status.Conditions {
		before := meta.FindStatusCondition(old.Conditions, c.Type)
		if before != nil && before.Status == c.Status && before.Reason == c.Reason {
			continue
		}
		kind := corev1.EventTypeNormal
		if c.Type == v1alpha1.ConditionReady && c.Status == metav1.ConditionFalse {
			kind = corev1.EventTypeWarning
		}
		r.Recorder.Eventf(in.drain, nil, kind, c.Reason, c.Type, "%s", c.Message)
	}
	if status.FinishedAt != nil && old.FinishedAt == nil {
		done := in.drain.DeepCopy()
		done.Status.Goal, done.Status.StartedAt = old.Goal, old.StartedAt
		if done.Status.StartedAt == nil {
			done.Status.Goal, done.Status.StartedAt = status.Goal, status.StartedAt
		}
		r.Tracer.Drain(done, in.now)
	}
}
