// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"cmp"
	"fmt"
	"slices"
)

// totalWeight is what written weights sum to. Istio takes any sum above zero, but
// people read weights as percent.
const totalWeight = 100

// Weights turns shares, in any unit, into weights that sum to 100 by largest
// remainder. Zero stays zero, and a share above zero is at least 1: a cluster
// that should get a little must not silently get nothing. Of equal remainders
// the first in the list is rounded up, so callers who want the answer not to
// depend on order sort first.
//
// It fails where no share is above zero, where one is below, and where more than
// 100 shares are above zero.
func Weights(shares []int32) ([]int32, error) {
	var total int64
	positive := 0
	for _, s := range shares {
		if s < 0 {
			return nil, fmt.Errorf("share %d is below zero", s)
		}
		if s > 0 {
			positive++
		}
		total += int64(s)
	}
	if total == 0 {
		return nil, fmt.Errorf("all %d shares are zero: one cluster at least must get traffic", len(shares))
	}
	if positive > totalWeight {
		return nil, fmt.Errorf("%d clusters have a share, but weights in percent tell at most %d apart", positive, totalWeight)
	}

	weights := make([]int32, len(shares))
	left := int32(totalWeight)
	for i, s := range shares {
		if s > 0 {
			weights[i] = max(1, int32(int64(s)*totalWeight/total)) //nolint:gosec // at most totalWeight.
		}
		left -= weights[i]
	}
	// The error of each weight, times the total so that it stays whole: positive
	// where the weight is too small.
	lack := func(i int) int64 { return int64(shares[i])*totalWeight - int64(weights[i])*total }
	for left > 0 {
		i := pick(weights, func(i int) bool { return shares[i] > 0 }, lack)
		weights[i]++
		left--
	}
	for left < 0 {
		i := pick(weights, func(i int) bool { return weights[i] > 1 }, func(i int) int64 { return -lack(i) })
		weights[i]--
		left++
	}
	return weights, nil
}

// pick returns the first index with the largest value among those allowed.
func pick(list []int32, allowed func(int) bool, value func(int) int64) int {
	best := -1
	for i := range list {
		if allowed(i) && (best < 0 || value(i) > value(best)) {
			best = i
		}
	}
	return best
}

// Weight is what one cluster gets, as written.
type Weight struct {
	Cluster string
	Subset  string
	// Percent of 100 over all clusters of the Service.
	Percent int32
}

// writtenWeights lists the clusters by name with the weights they get. A weight
// that is more than a percent off is told: it happens only where many clusters
// have shares below one percent.
func writtenWeights(in Input) ([]Weight, []Reason) {
	cs := byName(in.Clusters)
	shares := make([]int32, len(cs))
	var total int64
	for i, c := range cs {
		shares[i] = c.Permille
		total += int64(c.Permille)
	}
	percent, err := Weights(shares)
	if err != nil {
		return nil, []Reason{{Code: NoWeight, Message: fmt.Sprintf("weights of %s/%s: %v", in.Service.Namespace, in.Service.Name, err)}}
	}
	var reasons []Reason
	ws := make([]Weight, len(cs))
	for i, c := range cs {
		ws[i] = Weight{Cluster: c.Name, Subset: SubsetName(c.Name), Percent: percent[i]}
		off := int64(percent[i])*total - int64(c.Permille)*totalWeight
		if max(off, -off) > total {
			reasons = append(reasons, Reason{Code: Rounded, Cluster: c.Name, Message: fmt.Sprintf(
				"cluster %q gets %d %%, wanted %d of %d: small shares of other clusters were rounded up to 1 %%",
				c.Name, percent[i], c.Permille, total)})
		}
	}
	return ws, reasons
}

// byName returns the clusters sorted by name, leaving the caller's list alone.
func byName(cs []Cluster) []Cluster {
	return slices.SortedFunc(slices.Values(cs), func(a, b Cluster) int { return cmp.Compare(a.Name, b.Name) })
}
