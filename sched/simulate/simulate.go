// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/sched"
	"github.com/weir-io/weir/sched/adapter"
	"github.com/weir-io/weir/sched/filter"
)

// A Question is a fleet, its workloads, and what to suppose. The objects carry their defaults and are valid.
type Question struct {
	Clusters    []v1alpha1.Cluster
	Views       []v1alpha1.ClusterView
	Deployments []v1alpha1.FederatedDeployment
	Preferences []v1alpha1.ReplicaSchedulingPreference
	Bindings    []v1alpha1.ResourceBinding
	// Without are clusters that are taken out: they hold nothing, and what stands there goes elsewhere.
	Without []string
	// Rebalance moves what stands to where the weights want it.
	Rebalance bool
}

// An Answer is what would be decided.
type Answer struct {
	// Bindings, one for each FederatedDeployment, by namespace and name.
	Bindings []Binding `json:"bindings"`
}

// A Binding is the decision for one FederatedDeployment.
type Binding struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Wanted is the sum of Unplaced and all Replicas.
	Wanted int64 `json:"wanted"`
	// Replicas by cluster, of those that hold any.
	Replicas map[string]int64 `json:"replicas"`
	Unplaced int64            `json:"unplaced"`
	Reasons  []Reason         `json:"reasons"`
	// ViewVersions by cluster, of the views that were counted on.
	ViewVersions map[string]int64 `json:"viewVersions"`
	// Before is what stood, by cluster.
	Before map[string]int64 `json:"-"`
}

// A Reason is why a cluster was left out or has less than its share. An empty cluster stands for the workload as a whole.
type Reason struct {
	Cluster string `json:"cluster"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Unplaced is how many replicas of all workloads have no place.
func (a *Answer) Unplaced() int64 {
	n := int64(0)
	for i := range a.Bindings {
		n += a.Bindings[i].Unplaced
	}
	return n
}

// Run answers a question. An error is the asker's to mend.
func Run(q *Question) (*Answer, error) {
	views, err := q.views()
	if err != nil {
		return nil, err
	}
	fleet, err := sched.NewFleet(views)
	if err != nil {
		return nil, err
	}
	deployments := slices.Clone(q.Deployments)
	slices.SortFunc(deployments, func(a, b v1alpha1.FederatedDeployment) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	answer := &Answer{Bindings: []Binding{}}
	batch := sched.NewBatch(fleet, nil)
	for i := range deployments {
		request, err := q.request(&deployments[i])
		if err != nil {
			return nil, err
		}
		decision := batch.Decide(&request)
		answer.Bindings = append(answer.Bindings, binding(&deployments[i], &request, &decision))
	}
	return answer, nil
}

// views are those of the fleet that the question supposes.
func (q *Question) views() ([]sched.ClusterView, error) {
	views := make([]sched.ClusterView, 0, len(q.Clusters))
	for i := range q.Clusters {
		c := &q.Clusters[i]
		v := adapter.Cluster(c)
		if at := slices.IndexFunc(q.Views, func(v v1alpha1.ClusterView) bool { return v.Name == c.Name }); at >= 0 {
			adapter.See(&v, &q.Views[at].Spec, adapter.Fresh(c))
		}
		if slices.Contains(q.Without, c.Name) {
			v.Duty = filter.LeftOut
		}
		views = append(views, v)
	}
	for _, name := range q.Without {
		if !slices.ContainsFunc(views, func(v sched.ClusterView) bool { return v.Cluster == name }) {
			return nil, fmt.Errorf("cluster %q is to be left out, and is not there: name a Cluster of the files", name)
		}
	}
	return views, nil
}

// request is what a FederatedDeployment asks for.
func (q *Question) request(d *v1alpha1.FederatedDeployment) (sched.Request, error) {
	var preference *v1alpha1.ReplicaPreference
	if p := adapter.Preferred(d, q.Preferences); p != nil {
		preference = &p.Spec.ReplicaPreference
	}
	wish, errs := adapter.Wish(d, preference)
	if len(errs) > 0 {
		return sched.Request{}, fmt.Errorf("FederatedDeployment %s/%s: %w", d.Namespace, d.Name, errs.ToAggregate())
	}
	for i := range q.Bindings {
		if wish.Resource == q.Bindings[i].Spec.Resource {
			wish.Clusters = q.Bindings[i].Spec.Clusters
		}
	}
	request := adapter.Request(&wish)
	if errs := adapter.Refine(&request, d); len(errs) > 0 {
		return sched.Request{}, fmt.Errorf("FederatedDeployment %s/%s: %w", d.Namespace, d.Name, errs.ToAggregate())
	}
	request.Rebalance = q.Rebalance
	return request, nil
}

func binding(d *v1alpha1.FederatedDeployment, request *sched.Request, decision *sched.Decision) Binding {
	b := Binding{
		Namespace: d.Namespace, Name: d.Name, Wanted: decision.Wanted, Unplaced: decision.Unplaced,
		Replicas: map[string]int64{}, Reasons: []Reason{}, ViewVersions: map[string]int64{}, Before: map[string]int64{},
	}
	for _, t := range decision.Targets {
		b.Replicas[t.Cluster] = t.Replicas
	}
	for _, r := range decision.Reasons {
		b.Reasons = append(b.Reasons, Reason{r.Cluster, string(r.Code), r.Message})
	}
	for _, v := range decision.Views {
		b.ViewVersions[v.Cluster] = v.Version
	}
	for name, stands := range request.Current {
		b.Before[name] = stands.Replicas
	}
	return b
}
