// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package unjoin

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/controllers/member"
)

// FieldManager owns what is said of a member that leaves, and what is changed there to let it go.
const FieldManager = "weir-unjoin"

const (
	lookAgain = 2 * time.Second
	// routesHold is longer than istiod's longest debounce (10 s) and a push after it, and than an order that the hub may
	// still carry out in the member from before the Cluster was deleted.
	routesHold = 20 * time.Second
	// reportStands is how long a Cluster stands when all is done, so that who waits for it reads what was left.
	reportStands = 3 * time.Second
)

// Reconciler lets go of every Cluster that kubectl weir unjoin has deleted.
type Reconciler struct {
	Client   client.Client
	Door     *member.Door
	Recorder events.EventRecorder
	Now      func() time.Time
	// Namespace is weir's own on the hub; Tokens are the join tokens there.
	Namespace string
	Tokens    interface {
		Revoke(ctx context.Context, cluster, keep string) (int, error)
	}
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).Named("unjoin").For(&v1alpha1.Cluster{}).Complete(r)
}

// Reconcile does what is due to let a member go, and says how far it is.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var c v1alpha1.Cluster
	if err := r.Client.Get(ctx, req.NamespacedName, &c); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if c.DeletionTimestamp.IsZero() || !controllerutil.ContainsFinalizer(&c, v1alpha1.FinalizerUnjoin) {
		return ctrl.Result{}, nil
	}
	if l := c.Status.Leaving; l != nil && l.Step == v1alpha1.LeavingDone && l.DoneAt != nil {
		if wait := reportStands - r.Now().Sub(l.DoneAt.Time); wait > 0 {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
		return ctrl.Result{}, r.letGo(ctx, &c)
	}
	f, err := r.gather(ctx, &c)
	if err != nil {
		return ctrl.Result{}, err
	}
	status, err := r.advance(ctx, f)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("cluster %q: unjoin: %w", c.Name, client.IgnoreNotFound(err))
	}
	if err := r.tell(ctx, &c, status); err != nil {
		return ctrl.Result{}, fmt.Errorf("cluster %q: unjoin: %w", c.Name, client.IgnoreNotFound(err))
	}
	return ctrl.Result{RequeueAfter: lookAgain}, nil
}

func (r *Reconciler) gather(ctx context.Context, c *v1alpha1.Cluster) (*Fleet, error) {
	var drains v1alpha1.ClusterDrainList
	var services v1alpha1.GlobalServiceList
	var bindings v1alpha1.ResourceBindingList
	var works v1alpha1.WorkList
	for what, list := range map[string]client.ObjectList{"cluster drains": &drains, "global services": &services, "resource bindings": &bindings} {
		if err := r.Client.List(ctx, list); err != nil {
			return nil, fmt.Errorf("list %s: %w", what, err)
		}
	}
	if err := r.Client.List(ctx, &works, client.InNamespace(v1alpha1.MemberNamespace(c.Name))); err != nil {
		return nil, fmt.Errorf("list works: %w", err)
	}
	return &Fleet{Cluster: c, Drains: drains.Items, Services: services.Items, Bindings: bindings.Items, Works: works.Items}, nil
}

// advance finds the step that is due, does what can be done of it now, and says what it waits for.
func (r *Reconciler) advance(ctx context.Context, f *Fleet) (v1alpha1.LeavingStatus, error) {
	force := f.Cluster.Annotations[v1alpha1.AnnotationUnjoin] == v1alpha1.UnjoinForce
	if held := f.replicas(); len(held) > 0 && !force {
		return at(v1alpha1.LeavingHeld, messages(held)...), nil
	}
	if held := f.traffic(); len(held) > 0 {
		return at(v1alpha1.LeavingTraffic, messages(held)...), nil
	}
	if len(f.Works) > 0 && !force {
		return r.copies(ctx, f)
	}
	swept := r.sweep(ctx, f)
	switch {
	case swept.hub != nil:
		return swept.status, swept.hub
	case swept.failed != nil && !force:
		swept.status.Waiting = []string{hub.Clip(wayOut(f, swept.failed), v1alpha1.MaxMessage)}
		return swept.status, nil
	case swept.failed == nil && !swept.clean:
		return swept.status, nil
	}
	if waiting, err := r.drains(ctx, f); err != nil || len(waiting) > 0 {
		return at(v1alpha1.LeavingDrains, waiting...), err
	}
	done := at(v1alpha1.LeavingDone)
	now := hub.Time(r.Now())
	done.DoneAt = &now
	left := f.leftCopies()
	if swept.failed != nil {
		left = f.left()
	}
	done.LeftCount = int32(len(left)) //nolint:gosec // as many as there are services and works.
	done.Left = hub.ClipAll(left[:min(len(left), v1alpha1.MaxLeft)], v1alpha1.MaxMessage)
	return done, nil
}

// copies deletes the Works, whose finalizer holds each until the member holds nothing of it.
func (r *Reconciler) copies(ctx context.Context, f *Fleet) (v1alpha1.LeavingStatus, error) {
	var waiting []string
	for i := range f.Works {
		w := &f.Works[i]
		if w.DeletionTimestamp.IsZero() {
			if err := r.Client.Delete(ctx, w, client.Preconditions{UID: &w.UID}); client.IgnoreNotFound(ignoreConflict(err)) != nil {
				return v1alpha1.LeavingStatus{}, fmt.Errorf("delete Work %s/%s: %w", w.Namespace, w.Name, err)
			}
		}
		text := fmt.Sprintf("the copy of %s %s/%s goes", w.Labels[v1alpha1.LabelWorkKind], w.Labels[v1alpha1.LabelWorkNamespace], w.Labels[v1alpha1.LabelWorkName])
		if len(w.Status.Manifests) > 0 && w.Status.Manifests[0].Message != "" {
			text += ": " + w.Status.Manifests[0].Message
		}
		waiting = append(waiting, text)
	}
	return at(v1alpha1.LeavingCopies, waiting...), nil
}

// swept is what came of one look at what stands in a member for global services.
type swept struct {
	status v1alpha1.LeavingStatus // of the step that is not over
	clean  bool                   // a whole look has found nothing of weir's there
	failed error                  // why the member did not let it happen; nil: it did
	hub    error                  // of the hub's own API server
}

// sweep takes away what stands in the member for global services.
func (r *Reconciler) sweep(ctx context.Context, f *Fleet) swept {
	gone, marked := f.routesGone()
	if !marked {
		taken, err := r.takeAll(ctx, f, func(key types.NamespacedName) []member.Ref { return []member.Ref{routeOf(key)} })
		switch {
		case err != nil:
			return swept{status: at(v1alpha1.LeavingRoutes), failed: err}
		case taken > 0:
			return swept{status: at(v1alpha1.LeavingRoutes, "routes were deleted: a next look shows whether they are gone")}
		}
		gone = r.Now()
		if err := r.markRoutesGone(ctx, f.Cluster); err != nil {
			return swept{status: at(v1alpha1.LeavingRoutes), hub: err}
		}
	}
	if r.Now().Sub(gone) < routesHold {
		return swept{status: at(v1alpha1.LeavingRoutes, fmt.Sprintf(
			"proxies there get %s to let go of the routes before the subsets go that these named", routesHold))}
	}
	taken, err := r.takeAll(ctx, f, placedFor)
	if err == nil {
		var m *member.Member
		unfenced := 0
		if m, err = r.Door.Open(ctx, f.Cluster); err == nil {
			unfenced, err = unfence(ctx, m)
		}
		taken += unfenced
	}
	switch {
	case err != nil:
		return swept{status: at(v1alpha1.LeavingRules), failed: err}
	case taken > 0:
		return swept{status: at(v1alpha1.LeavingRules, "rules, exports and fences were taken away: a next look shows whether that is all")}
	}
	return swept{clean: true}
}

// takeAll deletes what is weir's of what refs names for each global service, and returns how many objects there were.
func (r *Reconciler) takeAll(ctx context.Context, f *Fleet, refs func(types.NamespacedName) []member.Ref) (int, error) {
	m, err := r.Door.Open(ctx, f.Cluster)
	if err != nil {
		return 0, err
	}
	taken := 0
	for _, key := range f.keys() {
		n, err := take(ctx, m, refs(key))
		taken += n
		if err != nil {
			return taken, err
		}
	}
	return taken, nil
}

// routesGone is when the member was seen without routes; false: it was not yet.
func (f *Fleet) routesGone() (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, f.Cluster.Annotations[v1alpha1.AnnotationRoutesGone])
	return t, err == nil
}

func (r *Reconciler) markRoutesGone(ctx context.Context, c *v1alpha1.Cluster) error {
	marked := c.DeepCopy()
	metav1.SetMetaDataAnnotation(&marked.ObjectMeta, v1alpha1.AnnotationRoutesGone, r.Now().UTC().Format(time.RFC3339))
	return r.Client.Patch(ctx, marked, client.MergeFrom(c), client.FieldOwner(FieldManager))
}

// drains deletes what keeps the member out of service: a later member of the name shall not be born drained. It says what
// is still there.
func (r *Reconciler) drains(ctx context.Context, f *Fleet) ([]string, error) {
	var waiting []string
	for i := range f.Drains {
		d := &f.Drains[i]
		if d.Spec.ClusterName != f.Cluster.Name {
			continue
		}
		waiting = append(waiting, fmt.Sprintf("ClusterDrain %s goes", d.Name))
		if !d.DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.Client.Delete(ctx, d, client.Preconditions{UID: &d.UID}); client.IgnoreNotFound(ignoreConflict(err)) != nil {
			return waiting, fmt.Errorf("delete ClusterDrain %s: %w", d.Name, err)
		}
	}
	return waiting, nil
}

// letGo takes away what the hub keeps to reach the member, and then the finalizer.
func (r *Reconciler) letGo(ctx context.Context, c *v1alpha1.Cluster) error {
	if _, err := r.Tokens.Revoke(ctx, c.Name, ""); err != nil {
		return fmt.Errorf("cluster %q: unjoin: %w", c.Name, err)
	}
	if ref := c.Spec.CredentialsSecretRef; ref != nil && ref.Name == "weir-member-"+c.Name { // another name is not join's
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: ref.Name}}
		if err := r.Client.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("cluster %q: unjoin: delete Secret %s/%s: %w", c.Name, r.Namespace, ref.Name, err)
		}
	}
	r.Door.Forget(c.Name)
	free := c.DeepCopy()
	controllerutil.RemoveFinalizer(free, v1alpha1.FinalizerUnjoin)
	patch := client.MergeFromWithOptions(c, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, free, patch, client.FieldOwner(FieldManager)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cluster %q: unjoin: take the finalizer off: %w", c.Name, err)
	}
	return nil
}

// tell writes how far it is, where that has changed.
func (r *Reconciler) tell(ctx context.Context, c *v1alpha1.Cluster, status v1alpha1.LeavingStatus) error {
	if c.Status.Leaving != nil && equality.Semantic.DeepEqual(*c.Status.Leaving, status) {
		return nil
	}
	if _, err := hub.ApplyStatus(ctx, r.Client, FieldManager, c, "", v1alpha1.ClusterStatus{Leaving: &status}); err != nil {
		return err
	}
	switch {
	case status.Step != v1alpha1.LeavingDone:
	case len(status.Left) > 0:
		r.Recorder.Eventf(c, nil, corev1.EventTypeWarning, "Left", "Unjoin", "%s", hub.Clip(fmt.Sprintf(
			"%s is let go, and weir's own stays there, %d in all: %s", c.Name, status.LeftCount, status.Left[0]), v1alpha1.MaxMessage))
	default:
		r.Recorder.Eventf(c, nil, corev1.EventTypeNormal, "Unjoined", "Unjoin", "%s", "nothing of weir's is left in "+c.Name)
	}
	return nil
}

// wayOut says what is wrong with a member and what to do.
func wayOut(f *Fleet, err error) string {
	force := fmt.Sprintf("; where it is gone for good: kubectl weir unjoin %s --force", f.Cluster.Name)
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return "the hub may not write there any more (" + err.Error() + "): install its agent's release again until this is done" + force
	}
	return err.Error() + ": it is tried again" + force
}

func at(step v1alpha1.LeavingStep, waiting ...string) v1alpha1.LeavingStatus {
	return v1alpha1.LeavingStatus{Step: step, Waiting: hub.ClipAll(waiting[:min(len(waiting), v1alpha1.MaxLeavingWaits)], v1alpha1.MaxMessage)}
}

func messages(holds []Hold) []string {
	out := make([]string, 0, len(holds))
	for _, h := range holds {
		out = append(out, h.Message)
	}
	return out
}

func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}
