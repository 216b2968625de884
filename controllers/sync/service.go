// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/sched/filter"
	"github.com/weir-io/weir/sched/override"
)

// Services keeps the copies of every FederatedService.
type Services struct {
	copier
}

// NewServices returns a reconciler that works through c.
func NewServices(c Config) *Services { return &Services{copier(c)} }

// serviceInput is everything that one look at a FederatedService rests on.
type serviceInput struct {
	key      types.NamespacedName
	service  *v1alpha1.FederatedService // nil: there is none, or it is going
	steered  map[string]bool            // members that traffic of the global service goes to
	works    map[string]*v1alpha1.Work
	clusters map[string]*v1alpha1.Cluster
}

func (r *Services) gather(ctx context.Context, key types.NamespacedName) (*serviceInput, error) {
	in := &serviceInput{key: key, steered: map[string]bool{}}
	var err error
	if in.service, err = standing[v1alpha1.FederatedService](ctx, r.Client, key); err != nil {
		return nil, err
	}
	var gs v1alpha1.GlobalService
	if err := r.Client.Get(ctx, key, &gs); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read GlobalService %s: %w", key, err)
	}
	for _, c := range gs.Status.Clusters {
		if c.Ready > 0 {
			in.steered[c.Name] = true
		}
	}
	if in.works, err = r.worksOf(ctx, services.kind, key); err != nil {
		return nil, err
	}
	in.clusters, err = r.clusters(ctx)
	return in, err
}

// Reconcile brings every member to hold the Service that shall, and says of each whether it does.
func (r *Services) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	in, err := r.gather(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
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
	if in.service == nil {
		if slices.ContainsFunc(outcomes, func(o outcome) bool { return !o.gone }) {
			return ctrl.Result{RequeueAfter: lookMoving}, nil
		}
		return ctrl.Result{}, nil
	}
	status := serviceStatus(in, names, outcomes, r.Now())
	if err := r.write(ctx, in, status); err != nil {
		return ctrl.Result{}, err
	}
	again := lookAgain
	for _, row := range status.Clusters {
		// Of a Service there is nothing but the copy: it stands, or not.
		again = min(again, pace(&v1alpha1.MemberReplicas{MemberCopy: row.MemberCopy}, 0, false))
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// members are those that hold the Service, or shall, by name.
func (in *serviceInput) members() []string {
	all := map[string]bool{}
	for name := range in.works {
		all[name] = true
	}
	for name, c := range in.clusters {
		if in.service != nil && c.DeletionTimestamp.IsZero() && admitted(&in.service.Spec.Placement, c) == filter.Open {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func (r *Services) task(in *serviceInput, name string) *task {
	t := &task{key: in.key, name: name, cluster: in.clusters[name], work: in.works[name], wish: wish{of: services}}
	t.confirm = func(ctx context.Context) (bool, error) { return r.confirm(ctx, in) }
	if in.service == nil || t.cluster == nil {
		return t
	}
	t.base, t.wish.retained = max(in.service.Generation, 1), in.service.Spec.RetainedFields
	if admitted(&in.service.Spec.Placement, t.cluster) == filter.Out {
		if in.steered[name] {
			t.hold = name + " left the placement and has ready pods behind the Service: it goes when they have gone"
		}
		return t
	}
	want, errs := renderService(in.service, name)
	if len(errs) > 0 {
		t.keep, t.failed = true, errs.ToAggregate()
		return t
	}
	t.wish.object = want
	return t
}

// confirm reads past the cache whether a copy that shall go shall go still.
func (r *Services) confirm(ctx context.Context, in *serviceInput) (bool, error) {
	s, err := standing[v1alpha1.FederatedService](ctx, r.Live, in.key)
	if err != nil || s == nil || in.service == nil {
		return err == nil && s == nil && in.service == nil, err
	}
	return s.UID == in.service.UID && s.Generation == in.service.Generation, nil
}

// serviceStatus says what members hold.
func serviceStatus(in *serviceInput, names []string, outcomes []outcome, now time.Time) v1alpha1.FederatedServiceStatus {
	s := in.service
	status := *s.Status.DeepCopy()
	status.ObservedGeneration, status.Clusters = s.Generation, nil
	var copies []v1alpha1.MemberCopy
	for i, name := range names {
		o := &outcomes[i]
		if o.gone {
			continue
		}
		row := v1alpha1.MemberService{Name: name}
		for _, old := range s.Status.Clusters {
			if old.Name == name {
				row.MemberCopy = *old.MemberCopy.DeepCopy()
			}
		}
		say(&row.MemberCopy, o.copy.Sync, o.copy.Reason, o.copy.Message)
		if o.seen {
			seen(&row.MemberCopy, now)
		} else {
			row.Sight = v1alpha1.SightBlind
		}
		status.Clusters = append(status.Clusters, row)
		copies = append(copies, row.MemberCopy)
	}
	set := func(kind string, value metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: reason, Message: hub.Clip(message, v1alpha1.MaxMessage), ObservedGeneration: s.Generation,
		})
	}
	of := make([]string, 0, len(status.Clusters))
	for _, c := range status.Clusters {
		of = append(of, c.Name)
	}
	value, reason, message := propagated(copies, of)
	set(v1alpha1.ConditionPropagated, value, reason, message)
	if wrong, told := invalid(s); wrong != "" {
		value, reason, message = metav1.ConditionFalse, wrong, told
	}
	set(v1alpha1.ConditionReady, value, reason, message)
	return status
}

// invalid says what of a FederatedService cannot be read, whether or not its members are there; empty: nothing.
func invalid(s *v1alpha1.FederatedService) (reason, message string) {
	if errs := s.Validate(); len(errs) > 0 {
		return v1alpha1.ReasonInvalidTemplate, "nothing was changed: " + errs.ToAggregate().Error()
	}
	var errs field.ErrorList
	for _, o := range s.Spec.Overrides {
		_, wrong := override.Service(s, o.ClusterName)
		errs = append(errs, wrong...)
	}
	if len(errs) > 0 {
		return v1alpha1.ReasonInvalidOverride, "nothing was changed where it is for: " + errs.ToAggregate().Error()
	}
	return "", ""
}

func (r *Services) write(ctx context.Context, in *serviceInput, status v1alpha1.FederatedServiceStatus) error {
	if equality.Semantic.DeepEqual(status, in.service.Status) {
		return nil
	}
	name := &v1alpha1.FederatedService{}
	name.Namespace, name.Name = in.key.Namespace, in.key.Name
	if _, err := hub.ApplyStatus(ctx, r.Client, FieldManager, name, "", status); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("FederatedService %s: %w", in.key, err)
	}
	tell(r.Recorder, in.service, in.service.Status.Conditions, status.Conditions)
	return nil
}
