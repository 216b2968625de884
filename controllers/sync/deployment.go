// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/resview/stream"
	"github.com/weir-io/weir/sched/filter"
)

// Deployments keeps the copies of every FederatedDeployment.
type Deployments struct {
	copier

	members *stream.Server
}

// NewDeployments returns a reconciler that works through c, and looks sooner where members' agents tell something.
func NewDeployments(c Config, members *stream.Server) *Deployments {
	return &Deployments{copier(c), members}
}

// Config is what a reconciler works with: the hub's API server through a cache and, for what takes away, past it; the door to
// members; events; and the clock.
type Config copier

// deploymentInput is everything that one look at a federated workload rests on.
type deploymentInput struct {
	key      types.NamespacedName
	workload *v1alpha1.FederatedDeployment // nil: there is none, or it is going
	binding  *v1alpha1.ResourceBinding     // nil: there is none
	works    map[string]*v1alpha1.Work
	clusters map[string]*v1alpha1.Cluster
}

func (r *Deployments) gather(ctx context.Context, key types.NamespacedName) (*deploymentInput, error) {
	in := &deploymentInput{key: key}
	var err error
	if in.workload, err = standing[v1alpha1.FederatedDeployment](ctx, r.Client, key); err != nil {
		return nil, err
	}
	if in.workload != nil {
		if in.binding, err = bindingOf(ctx, r.Client, in.workload); err != nil {
			return nil, err
		}
	}
	if in.works, err = r.worksOf(ctx, deployments.kind, key); err != nil {
		return nil, err
	}
	in.clusters, err = r.clusters(ctx)
	return in, err
}

// Reconcile brings every member to hold what the plan says, and says what each holds.
func (r *Deployments) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	in, err := r.gather(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if in.workload != nil && !planned(in.binding) {
		return ctrl.Result{RequeueAfter: lookMoving}, nil // nothing is planned yet: what stands, stands.
	}
	names := in.members()
	tasks := make([]*task, 0, len(names))
	for _, name := range names {
		tasks = append(tasks, r.task(in, name))
	}
	outcomes := r.all(ctx, tasks)
	if err := failures(outcomes); err != nil {
		return ctrl.Result{}, err
	}
	if in.workload == nil {
		if slices.ContainsFunc(outcomes, func(o outcome) bool { return !o.gone }) {
			return ctrl.Result{RequeueAfter: lookMoving}, nil
		}
		return ctrl.Result{}, nil
	}
	status, again := deploymentStatus(in, names, outcomes, r.Now())
	if err := r.write(ctx, in, status); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// planned says whether a binding has ever been planned. One that was lost and made anew says nothing yet, which is not the
// same as no replicas.
func planned(b *v1alpha1.ResourceBinding) bool {
	return b != nil && (len(b.Spec.Plan) > 0 || len(b.Status.History) > 0)
}

// members are those that hold something of the workload, or shall, by name.
func (in *deploymentInput) members() []string {
	all := map[string]bool{}
	for name := range in.works {
		all[name] = true
	}
	if in.workload != nil {
		for _, p := range in.binding.Spec.Plan {
			all[p.Name] = true
		}
		for _, c := range in.binding.Spec.Clusters {
			all[c.Name] = true
		}
		for _, name := range in.binding.Spec.Lowered {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// plan is how many replicas a member shall hold now, decision how many it shall come to hold.
func (in *deploymentInput) plan(cluster string) (plan, decision int32) {
	for _, p := range in.binding.Spec.Plan {
		if p.Name == cluster {
			plan = p.Replicas
		}
	}
	for _, c := range in.binding.Spec.Clusters {
		if c.Name == cluster {
			decision = c.Replicas
		}
	}
	return plan, decision
}

// leave says whether replicas are to go in a member. Those that are planned beyond the decision because an autoscaler asked
// for them, when it had its limits back, are not.
func (in *deploymentInput) leave(cluster string, plan, decision int32) bool {
	row := rowOf(in.binding, cluster)
	return plan > decision && (decision == 0 || row == nil || !row.Autoscaler.Sets())
}

// task is what is to be done in one member.
func (r *Deployments) task(in *deploymentInput, name string) *task {
	t := &task{key: in.key, name: name, cluster: in.clusters[name], work: in.works[name], wish: wish{of: deployments}}
	t.confirm = func(ctx context.Context) (bool, error) { return r.confirm(ctx, in) }
	if in.workload == nil || t.cluster == nil {
		return t
	}
	t.lowered = slices.Contains(in.binding.Spec.Lowered, name)
	t.base, t.wish.retained = max(in.binding.Generation, 1), in.workload.Spec.RetainedFields
	plan, decision := in.plan(name)
	before := recorded(t.work)
	if plan == 0 && decision == 0 && (before == nil || admitted(&in.workload.Spec.Placement, t.cluster) == filter.Out) {
		// It left the placement: the copy goes once nothing of it runs. Until then it is told to run nothing.
		if row := rowOf(in.binding, name); row != nil && row.Applied == 0 && row.Sync != v1alpha1.SyncConflict || before == nil {
			t.whenEmpty = true
			return t
		}
	}
	want, errs := renderDeployment(in.workload, name, plan)
	switch {
	case len(errs) > 0 && before == nil:
		t.keep, t.failed = true, errs.ToAggregate()
		return t
	case len(errs) > 0, in.leave(name, plan, decision) && before != nil:
		// A template that cannot be read changes nothing but the replicas. Nor does one that is new, where replicas are
		// to go: pods that leave are not made anew first.
		want = before.DeepCopy()
		setReplicas(want, plan)
	}
	t.wish.object = want
	return t
}

// confirm reads past the cache whether what a pass wants is still wanted.
func (r *Deployments) confirm(ctx context.Context, in *deploymentInput) (bool, error) {
	d, err := standing[v1alpha1.FederatedDeployment](ctx, r.Live, in.key)
	if err != nil || d == nil || in.workload == nil {
		return err == nil && d == nil && in.workload == nil, err
	}
	b, err := bindingOf(ctx, r.Live, d)
	if err != nil || b == nil {
		return false, err
	}
	return b.UID == in.binding.UID && b.Generation == in.binding.Generation, nil
}

// write writes what was seen into the binding.
func (r *Deployments) write(ctx context.Context, in *deploymentInput, status v1alpha1.ResourceBindingStatus) error {
	b := in.binding
	if same(status, ownPart(b)) {
		return nil
	}
	name := &v1alpha1.ResourceBinding{}
	name.Namespace, name.Name = b.Namespace, b.Name
	_, err := hub.ApplyStatus(ctx, r.Client, FieldManager, name, "", status)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("ResourceBinding %s/%s: write what members hold: %w", b.Namespace, b.Name, err)
	}
	tell(r.Recorder, in.workload, b.Status.Conditions, status.Conditions)
	return nil
}
