// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sched

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-io/weir/sched/dimension"
	"github.com/weir-io/weir/sched/filter"
	"github.com/weir-io/weir/sched/fit"
	"github.com/weir-io/weir/sched/match"
)

type amounts = dimension.Amounts

// nodes are n nodes with so many thousandths of a core free on each.
func nodes(n, cpu int64) []fit.Node {
	return []fit.Node{{Count: n, Free: amounts{"cpu": cpu, "pods": 100}}}
}

// view of a cluster with room to spare, as changed.
func view(name string, changes ...func(*ClusterView)) ClusterView {
	v := ClusterView{Cluster: name, Seen: true, Version: 7, Confidence: 100, Nodes: nodes(10, 10000)}
	for _, change := range changes {
		change(&v)
	}
	return v
}

func health(h filter.Health) func(*ClusterView) { return func(v *ClusterView) { v.Health = h } }

func free(n, cpu int64) func(*ClusterView) {
	return func(v *ClusterView) { v.Nodes = nodes(n, cpu) }
}

func taint(effect match.Effect) func(*ClusterView) {
	return func(v *ClusterView) { v.Taints = []match.Taint{{Key: "x", Effect: effect}} }
}

// request for replicas of half a core with the default bounds, as changed.
func request(replicas int64, changes ...func(*Request)) Request {
	r := Request{
		Workload: "shop/web", Replicas: replicas, Default: DefaultBounds, Pod: fit.Pod{Need: amounts{"cpu": 500}},
		Where: filter.Wish{Kind: "apps/v1/Deployment"},
	}
	for _, change := range changes {
		change(&r)
	}
	return r
}

// stands says what stands where, as pairs of a cluster and a number.
func stands(pairs ...any) func(*Request) {
	return func(r *Request) {
		r.Current = map[string]Placement{}
		for i := 0; i < len(pairs); i += 2 {
			r.Current[pairs[i].(string)] = Placement{Replicas: int64(pairs[i+1].(int))}
		}
	}
}

// full lets a cluster count as full, in which some of what stands waits for a node.
func full(cluster string, waiting int64) func(*Request) {
	return func(r *Request) {
		r.Full = map[string]bool{cluster: true}
		if stands, ok := r.Current[cluster]; ok {
			stands.Waiting = waiting
			r.Current[cluster] = stands
		}
	}
}

func region(name string) func(*Request) {
	return func(r *Request) {
		r.Where.Fields = match.Selector{{Key: filter.Region, Operator: match.In, Values: []string{name}}}
	}
}

func bounds(cluster string, b Bounds) func(*Request) {
	return func(r *Request) {
		if r.Bounds == nil {
			r.Bounds = map[string]Bounds{}
		}
		r.Bounds[cluster] = b
	}
}

func newBatch(t *testing.T, views ...ClusterView) *Batch {
	t.Helper()
	fleet, err := NewFleet(views)
	if err != nil {
		t.Fatal(err)
	}
	return NewBatch(fleet, nil)
}

func decide(t *testing.T, r Request, views ...ClusterView) Decision {
	t.Helper()
	return newBatch(t, views...).Decide(&r)
}

// placed is a decision on one line: what each cluster gets, what is left, and the reasons' codes.
func placed(d Decision) string {
	text := ""
	for _, target := range d.Targets {
		text += fmt.Sprintf("%s:%d ", target.Cluster, target.Replicas)
	}
	text += fmt.Sprintf("left:%d", d.Unplaced)
	for _, r := range d.Reasons {
		text += fmt.Sprintf(" %s/%s", r.Cluster, r.Code)
	}
	return text
}

// fleets draws the views of a few clusters of every condition.
func fleets(t *rapid.T) []ClusterView {
	var views []ClusterView
	for i := range rapid.IntRange(0, 6).Draw(t, "clusters") {
		v := view(fmt.Sprintf("c%d", i), free(rapid.Int64Range(0, 3).Draw(t, "nodes"), rapid.Int64Range(0, 3000).Draw(t, "cpu")))
		v.Region = rapid.SampledFrom([]string{"north", "south"}).Draw(t, "region")
		usual := func(name string) bool { return rapid.IntRange(0, 3).Draw(t, name) > 0 }
		if !usual("healthy") {
			v.Health = rapid.SampledFrom([]filter.Health{filter.Suspect, filter.Dead, filter.Partitioned}).Draw(t, "health")
		}
		if !usual("untainted") {
			taint(rapid.SampledFrom([]match.Effect{match.NoSchedule, match.PreferNoSchedule, match.NoExecute}).Draw(t, "effect"))(&v)
		}
		if !usual("inService") {
			v.Duty = filter.Drained
		}
		v.Seen = usual("seen")
		if !usual("fresh") {
			v.Confidence = rapid.Int64Range(0, 100).Draw(t, "confidence")
		}
		views = append(views, v)
	}
	return views
}

// wishes draws a request that suits such a fleet.
func wishes(t *rapid.T, workload string) Request {
	small := rapid.Int64Range(0, 6)
	r := request(rapid.Int64Range(0, 30).Draw(t, "replicas"))
	r.Workload = workload
	r.Pod.Need = amounts{"cpu": rapid.Int64Range(1, 1500).Draw(t, "need")}
	r.Pod.Apart = rapid.IntRange(0, 4).Draw(t, "apart") == 0
	r.Rebalance = rapid.Bool().Draw(t, "rebalance")
	if rapid.Bool().Draw(t, "anywhere") {
		region("north")(&r)
	}
	r.Current, r.Full = map[string]Placement{}, map[string]bool{}
	for i := range 7 {
		name := fmt.Sprintf("c%d", i)
		r.Full[name] = rapid.IntRange(0, 5).Draw(t, "full") == 0
		if rapid.Bool().Draw(t, "stands") {
			n := small.Draw(t, "standing")
			r.Current[name] = Placement{Replicas: n, Waiting: rapid.Int64Range(0, n).Draw(t, "waiting")}
		}
		if rapid.IntRange(0, 2).Draw(t, "bounded") == 0 {
			bounds(name, Bounds{Weight: small.Draw(t, "weight"), Min: small.Draw(t, "min"), Max: small.Draw(t, "max")})(&r)
		}
	}
	return r
}

func shuffled(t *rapid.T, views []ClusterView) []ClusterView {
	if len(views) == 0 {
		return nil
	}
	return rapid.Permutation(slices.Clone(views)).Draw(t, "order")
}
