// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import "time"

// Arrivals counts, for each cluster, the requests that reached its servers in
// each step of time from start on. Requests before start are left out.
func Arrivals(ledgers []Ledger, start int64, step time.Duration) map[string][]int {
	counts := map[string][]int{}
	for _, l := range ledgers {
		series := counts[l.Cluster]
		for _, e := range l.Entries {
			if !e.begins() || e.Time < start {
				continue
			}
			i := int((e.Time - start) / int64(step))
			if missing := i + 1 - len(series); missing > 0 {
				series = append(series, make([]int, missing)...)
			}
			series[i]++
		}
		counts[l.Cluster] = series
	}
	return counts
}
