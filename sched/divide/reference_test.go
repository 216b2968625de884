// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package divide

import (
	"cmp"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// reference divides as a patient person would, one replica at a time: start from what stands, add to whom one more is
// due most, or take from whom the last one is due least. It shares nothing with Divide but the rules.
func reference(total int64, clusters []Cluster, rebalance bool) []int64 {
	floor, limit, have := make([]int64, len(clusters)), make([]int64, len(clusters)), make([]int64, len(clusters))
	for i, c := range clusters {
		limit[i] = min(c.Max, c.Room)
		floor[i] = min(c.Min, limit[i])
		have[i] = min(c.Present, limit[i])
	}
	if total <= sum(floor) {
		first := make([]int64, len(clusters))
		for i, c := range clusters {
			if c.First {
				first[i] = floor[i]
			}
		}
		given := roundRobin(min(total, sum(first)), clusters, first)
		if total > sum(first) {
			for i, n := range roundRobin(total-sum(first), clusters, less(floor, first)) {
				given[i] += n
			}
		}
		return given
	}
	start := slices.Clone(floor)
	for i, c := range clusters {
		if !rebalance || c.Frozen {
			start[i] = max(floor[i], have[i])
		}
	}
	// Take what is too much, from frozen ones last.
	for sum(start) > total {
		worst := -1
		for i, c := range clusters {
			if start[i] == floor[i] {
				continue
			}
			if worst < 0 || clusters[worst].Frozen && !c.Frozen || clusters[worst].Frozen == c.Frozen && due(clusters, worst, start[worst]-1, i, start[i]-1) < 0 {
				worst = i
			}
		}
		start[worst]--
	}
	// Add what is missing.
	for sum(start) < total {
		next := -1
		for i, c := range clusters {
			full := start[i] >= limit[i] || c.NewWeight == 0 && start[i] >= have[i]
			if !full && (next < 0 || due(clusters, i, start[i], next, start[next]) < 0) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		start[next]++
	}
	return start
}

// due is negative when replica number k (from 0) of cluster i goes before replica number l of cluster j.
func due(clusters []Cluster, i int, k int64, j int, l int64) int {
	worth := func(c Cluster, k int64) *big.Rat {
		if k < c.Present {
			return big.NewRat(c.Weight, 2*k+1)
		}
		return big.NewRat(c.NewWeight, 2*k+1)
	}
	a, b := clusters[i], clusters[j]
	return cmp.Or(
		worth(b, l).Cmp(worth(a, k)),
		absent(k, a)-absent(l, b),
		cmp.Compare(k, l),
		cmp.Compare(a.Tie, b.Tie),
		cmp.Compare(i, j),
	)
}

func absent(k int64, c Cluster) int {
	if k < c.Present {
		return 0
	}
	return 1
}

// roundRobin deals replicas in rounds, one to everybody below its floor; in the last round those come first who have one
// there already.
func roundRobin(total int64, clusters []Cluster, floor []int64) []int64 {
	given := make([]int64, len(clusters))
	for round := int64(0); ; round++ {
		var turn []int
		for i := range clusters {
			if floor[i] > round {
				turn = append(turn, i)
			}
		}
		slices.SortFunc(turn, func(i, j int) int {
			return cmp.Or(absent(round, clusters[i])-absent(round, clusters[j]), cmp.Compare(clusters[i].Tie, clusters[j].Tie), cmp.Compare(i, j))
		})
		for _, i := range turn {
			if total == 0 {
				return given
			}
			given[i]++
			total--
		}
		if len(turn) == 0 {
			return given
		}
	}
}

func less(a, b []int64) []int64 {
	out := make([]int64, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	return out
}

func sum(of []int64) int64 {
	s := int64(0)
	for _, n := range of {
		s += n
	}
	return s
}

// some is a random division problem of at most n clusters with numbers below size.
func some(r *rand.Rand, n int, size int64) (int64, []Cluster) {
	clusters := make([]Cluster, 1+r.IntN(n))
	weights := 1 + r.Int64N(12)
	for i := range clusters {
		c := Cluster{Weight: r.Int64N(weights + 1), Max: Unlimited, Room: Unlimited, Tie: r.Uint64N(4)}
		c.NewWeight = c.Weight
		for _, coin := range []func(){
			func() { c.Min = r.Int64N(size) },
			func() { c.Max = r.Int64N(size) },
			func() { c.Room = r.Int64N(size) },
			func() { c.Present = r.Int64N(size) },
			func() { c.NewWeight = r.Int64N(c.Weight + 1) },
			func() { c.Frozen = true },
			func() { c.First = true },
		} {
			if r.IntN(3) == 0 {
				coin()
			}
		}
		clusters[i] = c
	}
	return r.Int64N(size * int64(len(clusters))), clusters
}

func TestItAgreesWithASlowSolverOnRandomCases(t *testing.T) {
	var d Divider
	for name, c := range map[string]struct {
		cases, clusters int
		size            int64
	}{
		"small": {20000, 4, 8},
		"wide":  {2000, 40, 6},
		"high":  {1000, 3, 300},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(c.clusters)))
			for n := range c.cases {
				total, clusters := some(r, c.clusters, c.size)
				rebalance := n%2 == 0
				got := d.Divide(total, clusters, rebalance)
				want := reference(total, clusters, rebalance)
				if !slices.Equal(got.Replicas, want) || got.Unplaced != total-sum(want) {
					t.Fatalf("case %d: %d over %+v, rebalance %t:\n got %v, %d left\nwant %v", n, total, clusters, rebalance, got.Replicas, got.Unplaced, want)
				}
			}
		})
	}
}
