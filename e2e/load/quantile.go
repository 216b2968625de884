// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math"
	"slices"
	"time"
)

// Latency sums up how long some requests took, or how late they were.
type Latency struct {
	Count int           `json:"count"`
	P50   time.Duration `json:"p50Ns"`
	P99   time.Duration `json:"p99Ns"`
	Max   time.Duration `json:"maxNs"`
}

// Summarize sorts the values in place and sums them up. No values give zeros.
func Summarize(values []time.Duration) Latency {
	if len(values) == 0 {
		return Latency{}
	}
	slices.Sort(values)
	return Latency{
		Count: len(values),
		P50:   quantile(values, 0.50),
		P99:   quantile(values, 0.99),
		Max:   values[len(values)-1],
	}
}

// quantile gives the nearest-rank quantile of sorted values: the smallest one
// that at least q of them do not exceed. It never invents a value in between.
func quantile(sorted []time.Duration, q float64) time.Duration {
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}
