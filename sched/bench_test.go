// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sched

import (
	"fmt"
	"math/rand/v2"
	"syscall"
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
			Labels: map[string]string{"tier": []string{"production", "test"}[i%2]}, Seen: true, Version: int64(i), Confidence: 100 - max(0, r.Int64N(20)-15),
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

// cpuTime is what this process has used of all cores, its garbage collector's part included: on a machine with other work
// the clock says little.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
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
		"oneRegion":       func(i int, r *Request) { region(fmt.Sprintf("region-%d", i%5))(r) },
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
			b.ReportAllocs()
			decided, start := 0, cpuTime(b)
			for i := 0; b.Loop(); i++ {
				batch := NewBatch(fleet, nil)
				for k := range 100 {
					batch.Decide(&requests[(100*i+k)%1000])
					decided++
				}
			}
			each := (cpuTime(b) - start) / time.Duration(decided)
			b.ReportMetric(float64(each.Nanoseconds())/1000, "cpu-µs/binding")
			b.ReportMetric(float64(time.Second/each), "bindings/cpu-s")
		})
	}
}
