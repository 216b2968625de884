// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
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
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/resview/stream"
)

// FieldManager owns a Cluster's status.
const FieldManager = "weir-cluster"

// lookAgain is how often a Cluster is judged without an event: silence makes none.
const lookAgain = 5 * time.Second

// probeAfter is how long an agent may be silent before its API server is asked whether the member is off.
const probeAfter = 30 * time.Second

// Reconciler answers every Cluster.
type Reconciler struct {
	Client   client.Client
	Door     *member.Door
	Members  *stream.Server
	Recorder events.EventRecorder
	Now      func() time.Time

	watch watch
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).
		Named("cluster").
		For(&v1alpha1.Cluster{}).
		WatchesRawSource(&hub.Changes{Members: r.Members, Concerns: heardOf}).
		Complete(r)
}

// heardOf returns the members of which something was heard.
func heardOf(_ context.Context, changes []stream.Change) []reconcile.Request {
	var out []reconcile.Request
	for _, change := range changes {
		if change.Service == (types.NamespacedName{}) {
			out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Name: change.Cluster}})
		}
	}
	return out
}

// Reconcile admits the member, or forgets it, and writes what is known.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var c v1alpha1.Cluster
	err := r.Client.Get(ctx, req.NamespacedName, &c)
	if apierrors.IsNotFound(err) || err == nil && !c.DeletionTimestamp.IsZero() {
		r.Members.Forget(req.Name)
		r.Door.Forget(req.Name)
		r.watch.forget(req.Name)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read cluster %q: %w", req.Name, err)
	}
	in := input{cluster: &c, now: r.Now()}
	if len(c.Spec.Unserved()) == 0 {
		interval, _ := c.Spec.Heartbeat()
		if err := r.Members.Admit(c.Name, stream.Settings{BeatInterval: interval, Registration: string(c.UID)}); err != nil {
			return ctrl.Result{}, fmt.Errorf("cluster %q: admit: %w", c.Name, err)
		}
		door, err := r.Door.Reach(ctx, &c)
		in.door, in.snapshot = err, r.Members.Snapshot(c.Name)
		probed := err == nil && (!in.snapshot.Connected || in.now.Sub(in.snapshot.LastBeat) > probeAfter)
		if probed {
			in.door = door.Probe(ctx)
		}
		if in.door == nil {
			in.epoch = r.Door.Confirm(ctx, &c)
		}
		in.contact = r.watch.look(&c, in.snapshot, in.door, probed, in.now)
		in.view, _ = r.Members.View(c.Name)
	}
	status := statusOf(in)
	if err := r.write(ctx, &c, status); err != nil {
		return ctrl.Result{}, fmt.Errorf("cluster %q: %w", c.Name, client.IgnoreNotFound(err))
	}
	return ctrl.Result{RequeueAfter: lookAgain}, nil
}

func (r *Reconciler) write(ctx context.Context, c *v1alpha1.Cluster, status v1alpha1.ClusterStatus) error {
	if equality.Semantic.DeepEqual(status, c.Status) {
		return nil
	}
	if _, err := hub.ApplyStatus(ctx, r.Client, FieldManager, c, "", status); err != nil {
		return err
	}
	for _, n := range status.Conditions {
		old := meta.FindStatusCondition(c.Status.Conditions, n.Type)
		if old != nil && old.Status == n.Status && old.Reason == n.Reason {
			continue
		}
		kind := corev1.EventTypeNormal
		if n.Status != metav1.ConditionTrue {
			kind = corev1.EventTypeWarning
		}
		r.Recorder.Eventf(c, nil, kind, n.Reason, n.Type, "%s", n.Message)
	}
	return nil
}

// notHeld is why nothing may be written to a member; nil: it may, or that is not what is wrong.
func notHeld(err error) *member.HoldError {
	held, _ := errors.AsType[*member.HoldError](err)
	return held
}

func noCredentials(err error) bool { return errors.Is(err, member.ErrNoCredentials) }
