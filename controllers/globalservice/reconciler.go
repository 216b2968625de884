// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/controllers/tracing"
	"github.com/weir-io/weir/resview/stream"
)

// How often a service is looked at without an event.
const (
	lookWhileMoving = 2 * time.Second
	lookAtRest      = 30 * time.Second
	lookUnseen      = 100 * time.Millisecond
)

// looksAtOnce is how many services are looked at side by side, so that one that waits for a slow member does not hold the rest.
const looksAtOnce = 4

// Reconciler keeps GlobalServices and carries their plans out.
type Reconciler struct {
	Client   client.Client
	Door     *member.Door
	Members  *stream.Server
	Recorder events.EventRecorder
	Tracer   *tracing.Tracer
	Now      func() time.Time
	Config   Config

	orderTime time.Duration // how long an order may take; 0: as timeOf says
	settle    time.Duration // how long a Service must have been heard before the first rules of its member; 0: none waits

	mu      sync.Mutex
	targets map[types.NamespacedName]targetSet
	looked  map[types.NamespacedName]bool // services that were looked at to the end in this life of the hub
	done    map[string]doneOrder
	stands  map[types.NamespacedName]map[string]madeStandIn // by service and member
	heard   map[types.NamespacedName]map[string]time.Time   // since when a member tells of its Service, by service and member
	told    map[types.NamespacedName]writing                // of its status, the last
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(m ctrl.Manager) error {
	r.targets, r.done = map[types.NamespacedName]targetSet{}, map[string]doneOrder{}
	r.looked, r.settle = map[types.NamespacedName]bool{}, settleTime
	all := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request { return r.all(ctx) })
	return ctrl.NewControllerManagedBy(m).
		Named("globalservice").
		For(&v1alpha1.GlobalService{}).
		Watches(&v1alpha1.TrafficPolicy{}, all).
		Watches(&v1alpha1.ClusterDrain{}, all).
		Watches(&v1alpha1.Cluster{}, all).
		WatchesRawSource(&hub.Changes{Members: r.Members, Concerns: r.changed}).
		WithOptions(controller.Options{MaxConcurrentReconciles: looksAtOnce}).
		Complete(r)
}

// all names every service that exists on the hub or in a member.
func (r *Reconciler) all(ctx context.Context) []reconcile.Request {
	seen := map[types.NamespacedName]bool{}
	var list v1alpha1.GlobalServiceList
	if err := r.Client.List(ctx, &list); err == nil {
		for _, gs := range list.Items {
			seen[client.ObjectKeyFromObject(&gs)] = true
		}
	}
	for _, s := range r.Members.Snapshots() {
		for key := range s.Services {
			seen[key] = true
		}
	}
	out := make([]reconcile.Request, 0, len(seen))
	for key := range seen {
		out = append(out, reconcile.Request{NamespacedName: key})
	}
	return out
}

// Reconcile brings one service's objects to what its plan and its members say.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	in, err := r.gather(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if r.unseen(in) {
		return ctrl.Result{RequeueAfter: lookUnseen}, nil // and the event of the write is on its way
	}
	defer r.markLooked(in.key)
	if len(in.exporters()) == 0 {
		return r.release(ctx, in)
	}
	if in.service == nil {
		return r.create(ctx, in)
	}
	if err := r.guard(ctx, in); err != nil {
		return ctrl.Result{RequeueAfter: time.Second}, client.IgnoreNotFound(ignoreConflict(err))
	}
	if in.service.Annotations[annotationReleased] != "" {
		if err := r.markReleased(ctx, in, ""); err != nil {
			return ctrl.Result{}, err
		}
	}
	moving := in.service.Spec.Record != nil || in.service.Status.Weights.Level != v1alpha1.ProofProven
	if err := r.carryOut(ctx, in, moving); err != nil {
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: time.Second}, nil
		}
		return ctrl.Result{}, fmt.Errorf("global service %s: %w", req.NamespacedName, err)
	}
	if moving || in.settling() {
		return ctrl.Result{RequeueAfter: lookWhileMoving}, nil
	}
	return ctrl.Result{RequeueAfter: lookAtRest}, nil
}

// gather reads everything that one look rests on.
func (r *Reconciler) gather(ctx context.Context, key types.NamespacedName) (*input, error) {
	in := &input{key: key, now: r.Now(), config: r.Config, policies: map[string]*v1alpha1.TrafficPolicy{}}
	var gs v1alpha1.GlobalService
	switch err := r.Client.Get(ctx, key, &gs); {
	case err == nil:
		in.service = &gs
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("read global service %s: %w", key, err)
	}
	if err := r.gatherOthers(ctx, in); err != nil {
		return nil, err
	}
	var policies v1alpha1.TrafficPolicyList
	if err := r.Client.List(ctx, &policies, client.InNamespace(key.Namespace)); err != nil {
		return nil, fmt.Errorf("list traffic policies of %s: %w", key.Namespace, err)
	}
	for i := range policies.Items {
		in.policies[policies.Items[i].Name] = &policies.Items[i]
	}
	var drains v1alpha1.ClusterDrainList
	if err := r.Client.List(ctx, &drains); err != nil {
		return nil, fmt.Errorf("list cluster drains: %w", err)
	}
	in.drains = drains.Items
	var clusters v1alpha1.ClusterList
	if err := r.Client.List(ctx, &clusters); err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	for i := range clusters.Items {
		c := &clusters.Items[i]
		switch {
		case !c.DeletionTimestamp.IsZero():
			in.leaving = in.leaving || controllerutil.ContainsFinalizer(c, v1alpha1.FinalizerUnjoin)
		case hub.NotServed(c.Status.Conditions):
			in.members = append(in.members, memberView{name: c.Name, cluster: c}) // nothing is written there, nor forgotten
		default:
			in.members = append(in.members, viewOf(key, c, r.Members.Snapshot(c.Name), in.drains, in.now, r.Config.SightLost))
		}
	}
	in.standIns = r.standInsOf(key)
	r.noteHeard(in)
	in.share()
	in.addLeft()
	in.markAcross()
	slices.SortFunc(in.members, func(a, b memberView) int { return strings.Compare(a.name, b.name) })
	return in, nil
}

// carryOut counts what is wanted as held, writes it to the members, and reports what became of it.
func (r *Reconciler) carryOut(ctx context.Context, in *input, moving bool) error {
	out := decide(in)
	if err := r.report(ctx, in, out.widened()); err != nil {
		return err
	}
	failed := r.carry(ctx, in, out)
	in.standIns = r.standInsOf(in.key)
	r.setTargets(in, out, moving)
	return r.report(ctx, in, out.settled(in, failed))
}

func (r *Reconciler) report(ctx context.Context, in *input, status ownedStatus) error {
	before := ownStatus(in.service)
	if equality.Semantic.DeepEqual(status, before) || r.mayWait(in.key, before, status, in.now) {
		return nil
	}
	// Not on top of the version that was read: orders take their time, others write meanwhile, and nothing would be reported
	// while a member is slow. That nothing is lost of what this controller wrote itself, unseen sees to.
	applied, err := hub.ApplyStatus(ctx, r.Client, FieldManager, in.service, "", status)
	if err != nil {
		return err
	}
	r.wrote(in.key, r.Now(), applied.GetResourceVersion()) // which may be long after the look began
	r.tell(in, before, status)
	in.service.ResourceVersion = applied.GetResourceVersion()
	status.into(&in.service.Status)
	return nil
}

// setTargets tells every member's prover what is wanted of it now.
func (r *Reconciler) setTargets(in *input, out outcome, moving bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if out.blocked() && !hasRules(in.service.Spec) {
		delete(r.targets, in.key)
	} else {
		// Rules that stand are watched on while nothing may be written: who looks away sees no push to compare with.
		r.targets[in.key] = targetSet{target: targetOf(in, in.service.Spec, out.ports, moving)}
	}
	r.sendTargets(in)
}
