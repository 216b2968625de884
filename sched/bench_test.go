// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weir-io/weir/sched/filter"
	"github.com/weir-io/weir/sched/fit"
	"github.com/weir-io/weir/sched/match"
)

// thousand are the views of 1,000 clusters with six kinds of nodes each, some suspect, tainted or short of room.
func thousand() []ClusterView {
	r := rand.New(rand.NewPCG(5, 6))
	views := make([]ClusterView, 1000)
	for i := range views {
		v := ClusterView{
			Cluster: fmt.Sprintf("cluster-%04d", i), Region: fmt.Sprintf("region-%d", i%5), Zone: fmt.Sprintf("zone-%d", i%20),
			Labels: map[string]string{"tier": []string{"production", "test"}[i%2]}, Seen: true, Version: int64(i), AgeSeconds: r.Int64N(70),
			Serves: []string{"v1", "apps/v1", "batch/v1"},
		}
		if i%50 == 0 {
			v.Health = filter.Suspect
		}
		if i%20 == 0 {
			v.Taints = []match.Taint{{Key: "weir.io/burst", Effect: match.NoSchedule}}
		}
		for shape := range 6 {
			v.Nodes = append(v.Nodes, fit.Node{
				Count: 1 + r.Int64N(10), Labels: map[string]string{"pool": fmt.Sprint(shape)},
				Free: amounts{"cpu": r.Int64N(4000), "memory": r.Int64N(16 << 30), "pods": r.Int64N(40)},
			})
		}
		views[i] = v
	}
	return views
}

// A thousand bindings that ask for replicas anywhere, over 1,000 clusters and in one batch: the whole pipeline with room
// counted, reservations made and reasons given.
func BenchmarkBindingsOver1000Clusters(b *testing.B) {
	views := thousand()
	fleet, err := NewFleet(views)
	if err != nil {
		b.Fatal(err)
	}
	for name, change := range map[string]func(i int, r *Request){
		"anywhere":        func(int, *Request) {},
		"oneRegion":       func(i int, r *Request) { r.Where.Regions = []string{fmt.Sprintf("region-%d", i%5)} },
		"threeNamed":      func(i int, r *Request) { named("cluster-0001", "cluster-0002", fmt.Sprintf("cluster-%04d", i%1000))(r) },
		"everyCluster":    func(_ int, r *Request) { r.Replicas = 2000 },
		"minimumForNoOne": func(_ int, r *Request) { r.Default.Min = 0 },
	} {
		b.Run(name, func(b *testing.B) {
			requests := make([]Request, 1000)
			for i := range requests {
				requests[i] = request(1 + int64(i%20))
				requests[i].Workload = fmt.Sprintf("shop/web-%d", i)
				requests[i].Pod.Need = amounts{"cpu": 100 + int64(i%7)*100, "memory": 256 << 20}
				change(i, &requests[i])
			}
			var times []time.Duration
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				batch := NewBatch(fleet, nil)
				start := time.Now()
				for k := range 100 {
					batch.Decide(&requests[(100*i+k)%1000])
				}
				times = append(times, time.Since(start)/100)
			}
			slices.Sort(times)
			p50 := times[len(times)/2]
			b.ReportMetric(float64(p50.Nanoseconds())/1000, "p50-µs/binding")
			b.ReportMetric(float64(time.Second)/float64(p50), "bindings/s")
		})
	}
}
