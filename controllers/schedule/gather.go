// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/sched"
	"github.com/weir-io/weir/sched/adapter"
	"github.com/weir-io/weir/sched/filter"
)

// input is everything that one pass rests on.
type input struct {
	now      time.Time
	views    []sched.ClusterView      // of every registered cluster, by name
	entries  []*entry                 // by namespace and name
	services []v1alpha1.GlobalService // all there are
}

// entry is one workload of a pass.
type entry struct {
	binding  *v1alpha1.ResourceBinding
	workload *v1alpha1.FederatedDeployment
	request  sched.Request
	placed   map[string]int32 // by Works, where the binding has no plan; else nil
	failed   bool             // its pods have waited too long for a node in some member
}

func (e *entry) key() types.NamespacedName { return client.ObjectKeyFromObject(e.binding) }

func (r *Reconciler) gather(ctx context.Context) (*input, error) {
	in := &input{now: r.Now()}
	var err error
	if in.views, err = r.views(ctx, in.now); err != nil {
		return nil, err
	}
	var bindings v1alpha1.ResourceBindingList
	if err := r.Client.List(ctx, &bindings); err != nil {
		return nil, fmt.Errorf("list ResourceBindings: %w", err)
	}
	var workloads v1alpha1.FederatedDeploymentList
	if err := r.Client.List(ctx, &workloads); err != nil {
		return nil, fmt.Errorf("list FederatedDeployments: %w", err)
	}
	var services v1alpha1.GlobalServiceList
	if err := r.Client.List(ctx, &services); err != nil {
		return nil, fmt.Errorf("list GlobalServices: %w", err)
	}
	in.services = services.Items
	of := make(map[types.NamespacedName]*v1alpha1.FederatedDeployment, len(workloads.Items))
	for i := range workloads.Items {
		d := &workloads.Items[i]
		if d.DeletionTimestamp.IsZero() {
			of[types.NamespacedName{Namespace: d.Namespace, Name: d.BindingName()}] = d
		}
	}
	for i := range bindings.Items {
		b := &bindings.Items[i]
		d := of[client.ObjectKeyFromObject(b)]
		if d == nil || !b.DeletionTimestamp.IsZero() {
			continue // it goes, and the copies with it.
		}
		e := &entry{binding: b, workload: d, request: adapter.Request(&b.Spec)}
		if len(b.Spec.Plan) == 0 {
			if err := r.recall(ctx, e); err != nil {
				return nil, err
			}
		}
		// Overrides that cannot be made are told to their author by the workload's status; here the template counts.
		_ = adapter.Refine(&e.request, d)
		e.waiting()
		in.entries = append(in.entries, e)
	}
	slices.SortFunc(in.entries, func(a, b *entry) int { return strings.Compare(a.key().String(), b.key().String()) })
	return in, nil
}

// waiting notes how many of the decided replicas have no node yet, and so are in no view. Where a member still runs more
// than was decided, those without a node are the ones that are too many. What is ready has a node, whatever else a member
// says: it counts its pods and its Deployment at two times. A member of which nothing is told yet was not given them yet.
func (e *entry) waiting() {
	for name, current := range e.request.Current {
		if e.row(name) == nil {
			current.Waiting = current.Replicas
			e.request.Current[name] = current
		}
	}
	for _, row := range e.binding.Status.Clusters {
		if current, ok := e.request.Current[row.Name]; ok && row.Pending > 0 {
			surplus := max(0, int64(row.Applied)-current.Replicas)
			current.Waiting = min(max(0, int64(row.Pending)-surplus), max(0, current.Replicas-int64(row.Ready)))
			e.request.Current[row.Name] = current
		}
	}
}

// recall finds out what members hold of a workload whose binding does not know.
func (r *Reconciler) recall(ctx context.Context, e *entry) error {
	var works v1alpha1.WorkList
	labels := v1alpha1.WorkLabels("Deployment", e.workload.Namespace, e.workload.Name)
	if err := r.Client.List(ctx, &works, client.MatchingLabels(labels)); err != nil {
		return fmt.Errorf("list Works of FederatedDeployment %s/%s: %w", e.workload.Namespace, e.workload.Name, err)
	}
	for _, w := range works.Items {
		cluster := w.Annotations[v1alpha1.AnnotationWorkCluster]
		for _, m := range w.Spec.Workload.Manifests {
			var d struct {
				Spec struct {
					Replicas int32 `json:"replicas"`
				} `json:"spec"`
			}
			if err := json.Unmarshal(m.Raw, &d); err != nil || cluster == "" {
				continue // of no form that weir writes: it says nothing.
			}
			if e.placed == nil {
				e.placed = map[string]int32{}
			}
			e.placed[cluster] += d.Spec.Replicas
			if len(e.binding.Spec.Clusters) == 0 {
				e.request.Current[cluster] = sched.Placement{Replicas: int64(e.placed[cluster])}
			}
		}
	}
	return nil
}

// views are what is known of every registered cluster.
func (r *Reconciler) views(ctx context.Context, now time.Time) ([]sched.ClusterView, error) {
	var clusters v1alpha1.ClusterList
	if err := r.Client.List(ctx, &clusters); err != nil {
		return nil, fmt.Errorf("list Clusters: %w", err)
	}
	var drains v1alpha1.ClusterDrainList
	if err := r.Client.List(ctx, &drains); err != nil {
		return nil, fmt.Errorf("list ClusterDrains: %w", err)
	}
	out := make([]sched.ClusterView, 0, len(clusters.Items))
	for i := range clusters.Items {
		c := &clusters.Items[i]
		if !c.DeletionTimestamp.IsZero() {
			continue
		}
		v := adapter.Cluster(c)
		r.shapes.see(&v, r.Views, now)
		v.Health = healthOf(c)
		if drained(c.Name, drains.Items) {
			v.Duty = filter.Drained
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b sched.ClusterView) int { return strings.Compare(a.Cluster, b.Cluster) })
	return out, nil
}

// healthOf is what liveness made of a cluster, as its status says. One that is not heard at all, of which nobody says that
// it is dead, keeps what it has and gets nothing, as one that is cut off. So does one in which this hub may not write.
func healthOf(c *v1alpha1.Cluster) filter.Health {
	if ready := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Status == metav1.ConditionFalse {
		switch ready.Reason {
		case v1alpha1.ReasonOtherHub, v1alpha1.ReasonNewerLeader, v1alpha1.ReasonEpochNotTaken:
			return filter.Partitioned
		}
	}
	healthy := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionHealthy)
	switch {
	case healthy == nil || healthy.Status == metav1.ConditionTrue:
		return filter.Healthy
	case healthy.Reason == v1alpha1.ReasonContactLost || healthy.Reason == "NeverHeard" || healthy.Reason == "FleetSilent":
		return filter.Partitioned
	}
	return adapter.Health(v1alpha1.ClusterHealth(healthy.Reason))
}

// drained says whether a cluster is being taken out of service, or is out of it.
func drained(cluster string, drains []v1alpha1.ClusterDrain) bool {
	return slices.ContainsFunc(drains, func(d v1alpha1.ClusterDrain) bool {
		return d.Spec.ClusterName == cluster && d.Status.Goal == v1alpha1.GoalDrain
	})
}
