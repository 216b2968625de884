// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package divide

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// even are clusters of weight 1 that have what is given.
func even(present ...int64) []Cluster {
	clusters := make([]Cluster, len(present))
	for i, n := range present {
		clusters[i] = Cluster{Weight: 1, NewWeight: 1, Max: Unlimited, Room: Unlimited, Present: n, Tie: uint64(i)}
	}
	return clusters
}

// but is clusters with one changed.
func but(clusters []Cluster, i int, change func(*Cluster)) []Cluster {
	change(&clusters[i])
	return clusters
}

func weighted(clusters []Cluster, weights ...int64) []Cluster {
	for i, w := range weights {
		clusters[i].Weight, clusters[i].NewWeight = w, w
	}
	return clusters
}

func minima(clusters []Cluster, n int64) []Cluster {
	for i := range clusters {
		clusters[i].Min = n
	}
	return clusters
}

func TestDivisionsThatPeopleAskFor(t *testing.T) {
	suspect := func(c *Cluster) { c.Weight, c.NewWeight, c.Frozen = 2*c.Weight, c.Weight, true }
	for name, c := range map[string]struct {
		total     int64
		clusters  []Cluster
		rebalance bool
		want      []int64
		left      int64
	}{
		"even":                                  {9, even(0, 0, 0), false, []int64{3, 3, 3}, 0},
		"eight to two":                          {10, weighted(even(0, 0), 8, 2), false, []int64{8, 2}, 0},
		"the rest goes by the tie":              {10, even(0, 0, 0), false, []int64{4, 3, 3}, 0},
		"the rest stays with who has it":        {10, even(3, 3, 4), false, []int64{3, 3, 4}, 0},
		"grow where least is":                   {12, even(6, 1, 1), false, []int64{6, 3, 3}, 0},
		"shrink where most is":                  {6, even(6, 1, 1), false, []int64{4, 1, 1}, 0},
		"crooked stays crooked":                 {9, even(7, 1, 1), false, []int64{7, 1, 1}, 0},
		"until it is rebalanced":                {9, even(7, 1, 1), true, []int64{3, 3, 3}, 0},
		"a minimum moves one":                   {6, minima(even(6, 0), 1), false, []int64{5, 1}, 0},
		"a minimum is not added":                {6, minima(even(0, 0, 0), 2), false, []int64{2, 2, 2}, 0},
		"more minima than replicas":             {4, minima(even(0, 0, 0), 3), false, []int64{2, 1, 1}, 0},
		"fewer replicas than clusters":          {2, minima(even(0, 0, 0, 1), 1), false, []int64{1, 0, 0, 1}, 0},
		"a drain moves only its own":            {9, but(even(3, 3, 3), 1, func(c *Cluster) { c.Max, c.Min = 0, 1 }), false, []int64{5, 0, 4}, 0},
		"a full cluster leaves it to the other": {9, but(even(0, 0, 0), 0, func(c *Cluster) { c.Room = 1 }), false, []int64{1, 4, 4}, 0},
		"nowhere to go":                         {9, but(even(0), 0, func(c *Cluster) { c.Room = 4 }), false, []int64{4}, 5},
		"a maximum holds in a rebalance":        {9, but(even(9, 0), 1, func(c *Cluster) { c.Max = 2 }), true, []int64{7, 2}, 0},
		"suspect: nothing moves":                {9, but(even(3, 3, 3), 1, suspect), false, []int64{3, 3, 3}, 0},
		"suspect: half of what is new":          {20, but(weighted(even(2, 2), 2, 2), 1, func(c *Cluster) { c.Frozen, c.NewWeight = true, 1 }), false, []int64{13, 7}, 0},
		"suspect: the others shrink":            {6, but(even(3, 3, 3), 1, suspect), false, []int64{2, 3, 1}, 0},
		"suspect: not rebalanced":               {9, but(even(7, 1, 1), 0, suspect), true, []int64{7, 1, 1}, 0},
		"weight 0 keeps and gets none":          {12, weighted(even(3, 3, 3), 0, 1, 1), false, []int64{3, 5, 4}, 0},
		"weight 0 goes in a rebalance":          {9, weighted(even(3, 3, 3), 0, 1, 1), true, []int64{0, 5, 4}, 0},
		"all weights 0":                         {9, minima(weighted(even(0, 0), 0, 0), 2), false, []int64{2, 2}, 5},
		"nothing wanted":                        {0, minima(even(2, 2), 1), false, []int64{0, 0}, 0},
		"no cluster":                            {3, nil, false, nil, 3},
		"less than nothing is nothing":          {-5, even(1), false, []int64{0}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := new(Divider).Divide(c.total, c.clusters, c.rebalance)
			if diff := cmp.Diff(Division{Replicas: c.want, Unplaced: c.left}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
