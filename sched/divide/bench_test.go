// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package divide

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// thousand are 1,000 clusters with weights from 1 to 10, minimum 1, a maximum or little room here and there, and what an
// earlier division of present replicas gave them.
func thousand(present int64) []Cluster {
	r := rand.New(rand.NewPCG(3, 4))
	clusters := make([]Cluster, 1000)
	for i := range clusters {
		w := 1 + r.Int64N(10)
		clusters[i] = Cluster{Weight: w, NewWeight: w, Min: 1, Max: Unlimited, Room: 5 + r.Int64N(40), Tie: r.Uint64()}
		if i%10 == 0 {
			clusters[i].Max = 4
		}
	}
	for i, n := range new(Divider).Divide(present, clusters, false).Replicas {
		clusters[i].Present = n
	}
	return clusters
}

func BenchmarkDivideOver1000Clusters(b *testing.B) {
	for name, c := range map[string]struct {
		present, total int64
		rebalance      bool
	}{
		"fresh10":       {0, 10, false},
		"fresh10000":    {0, 10000, false},
		"grow":          {10000, 10500, false},
		"shrink":        {10000, 9500, false},
		"rebalance":     {10000, 10000, true},
		"moreThanThere": {0, 100000, false},
	} {
		b.Run(name, func(b *testing.B) {
			clusters := thousand(c.present)
			var d Divider
			var times []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				d.Divide(c.total, clusters, c.rebalance)
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/1000, "p50-µs")
			b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds())/1000, "p99-µs")
		})
	}
}
