// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

// Finalizer holds a deleted GlobalService until no member has the Service any more and its rules were removed in order:
// it is the only record of what proxies and pods still hold.
const Finalizer = "weir.io/release"

// create makes the GlobalService. Where rules or fences of weir stand although there is none, its record was lost: what
// stands is then its plan, and it is read only when every member that may hold something has been heard to the end. The
// namespace's absence on the hub is told where people look: in the log.
func (r *Reconciler) create(ctx context.Context, in *input) (ctrl.Result, error) {
	plan, found := adopted(in)
	gs := &v1alpha1.GlobalService{ObjectMeta: metav1.ObjectMeta{Namespace: in.key.Namespace, Name: in.key.Name}}
	var err error
	switch name := in.unheard(); {
	case !found:
		gs.Finalizers = []string{Finalizer}
		err = r.Client.Create(ctx, gs, client.FieldOwner(FieldManager))
	case name != "":
		logf.FromContext(ctx).Info("rules or fences stand without a record; it is made anew when every member was heard", "unheard", name)
		return ctrl.Result{RequeueAfter: lookWhileMoving}, nil
	default:
		// In one write, so that nobody sees it without its plan; the finalizer follows at the next look.
		_, err = hub.ApplySpec(ctx, r.Client, hub.PlanManager, gs, "", plan)
	}
	switch {
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, fmt.Errorf("global service %s: namespace %q does not exist on the hub: create it there", in.key, in.key.Namespace)
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	return ctrl.Result{}, client.IgnoreAlreadyExists(err)
}

// guard puts the finalizer on a service that lacks it. One that is being deleted without it cannot get it any more, and
// is made anew from what stands.
func (r *Reconciler) guard(ctx context.Context, in *input) error {
	guarded := in.service.DeepCopy()
	if !guarded.DeletionTimestamp.IsZero() || !controllerutil.AddFinalizer(guarded, Finalizer) {
		return nil
	}
	return r.patch(ctx, in, guarded, "put the finalizer on")
}

// letGo deletes the service, whose rules are gone.
func (r *Reconciler) letGo(ctx context.Context, in *input) error {
	free := in.service.DeepCopy()
	if controllerutil.RemoveFinalizer(free, Finalizer) {
		if err := r.patch(ctx, in, free, "take the finalizer off"); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	if !free.DeletionTimestamp.IsZero() {
		return nil
	}
	return client.IgnoreNotFound(r.Client.Delete(ctx, in.service))
}

// patch writes what changed in the metadata, on top of what was read.
func (r *Reconciler) patch(ctx context.Context, in *input, changed *v1alpha1.GlobalService, what string) error {
	patch := client.MergeFromWithOptions(in.service, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, changed, patch, client.FieldOwner(FieldManager)); err != nil {
		return fmt.Errorf("global service %s: %s: %w", in.key, what, err)
	}
	in.service = changed
	return nil
}

func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// release takes away what weir made for a service that no member has any more: the routes first, and the subsets they
// named only when every proxy has had time to let go of the routes.
func (r *Reconciler) release(ctx context.Context, in *input) (ctrl.Result, error) {
	r.mu.Lock()
	delete(r.targets, in.key)
	delete(r.stands, in.key)
	delete(r.heard, in.key)
	delete(r.told, in.key)
	maps.DeleteFunc(r.done, func(key string, _ doneOrder) bool { return strings.HasPrefix(key, in.key.String()+"@") })
	r.sendTargets(in)
	r.mu.Unlock()
	if in.service == nil {
		return ctrl.Result{}, r.takeLeftFences(ctx, in)
	}
	refs := ruleRefs(in)
	if in.service.Annotations[annotationReleased] == "" {
		if err := r.removeEverywhere(ctx, in, order{remove: refs[:1]}); err != nil {
			return ctrl.Result{}, err
		}
		if err := r.markReleased(ctx, in, in.now.UTC().Format(time.RFC3339)); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{RequeueAfter: releaseHold}, nil
	}
	since, err := time.Parse(time.RFC3339, in.service.Annotations[annotationReleased])
	if wait := releaseHold - in.now.Sub(since); err == nil && wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if err := r.removeEverywhere(ctx, in, order{remove: append(refs, exportRefs(in)...)}); err != nil {
		return ctrl.Result{}, err
	}
	if in.leaving {
		return ctrl.Result{RequeueAfter: lookWhileMoving}, nil // by its name the member that leaves is searched for what stands there
	}
	return ctrl.Result{}, r.letGo(ctx, in)
}

// markReleased writes down when the routes were removed; an empty time takes the mark off, for a service that is back.
func (r *Reconciler) markReleased(ctx context.Context, in *input, at string) error {
	marked := in.service.DeepCopy()
	if at == "" {
		delete(marked.Annotations, annotationReleased)
	} else {
		metav1.SetMetaDataAnnotation(&marked.ObjectMeta, annotationReleased, at)
	}
	if err := r.Client.Patch(ctx, marked, client.MergeFrom(in.service), client.FieldOwner(FieldManager)); err != nil {
		return fmt.Errorf("global service %s: mark as released: %w", in.key, err)
	}
	in.service = marked
	return nil
}

// releaseHold is longer than istiod's longest debounce (10 s) and a push after it.
const releaseHold = 20 * time.Second

const annotationReleased = v1alpha1.AnnotationReleased

func (r *Reconciler) removeEverywhere(ctx context.Context, in *input, what order) error {
	var orders []order
	for _, m := range in.rulesGoTo() {
		o := what
		o.member = m
		in.leaveNoFence(&o)
		orders = append(orders, o)
	}
	return r.releaseAll(ctx, in, orders)
}

// takeLeftFences takes fences off pods of a Service of which there is no record any more.
func (r *Reconciler) takeLeftFences(ctx context.Context, in *input) error {
	var orders []order
	for _, m := range in.rulesGoTo() {
		o := order{member: m}
		if in.leaveNoFence(&o); len(o.labels) > 0 {
			orders = append(orders, o)
		}
	}
	return r.releaseAll(ctx, in, orders)
}

func (r *Reconciler) releaseAll(ctx context.Context, in *input, orders []order) error {
	failed := r.applyAll(ctx, in, orders)
	for _, name := range sortedKeys(failed.rules) {
		return fmt.Errorf("global service %s: release: %w", in.key, failed.rules[name])
	}
	return nil
}
