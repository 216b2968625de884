// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package divide

import "math"

// Unlimited is a Max or Room that never binds.
const Unlimited = math.MaxInt32

// MaxWeight is the greatest weight there may be, and MaxTotal the greatest number of replicas: products of both stay
// within 64 bits.
const (
	MaxWeight = 1 << 30
	MaxTotal  = math.MaxInt32
)

// A Cluster is what the division knows of one cluster. Numbers are replicas, and none is negative.
type Cluster struct {
	// Weight ranks the replicas it has, NewWeight those it would get; NewWeight is at most Weight.
	Weight, NewWeight int64
	// Min is its floor, Max its ceiling. Max 0 is a drain.
	Min, Max int64
	// First: its minimum is filled before those of others.
	First bool
	// Room is how many it can hold in all, those it has among them.
	Room int64
	// Present is how many it has.
	Present int64
	// Frozen: what it has is taken after what the others have.
	Frozen bool
	// Tie decides between equally worthy replicas, lower first. A hash of workload and cluster serves.
	Tie uint64
}

// limit is what the cluster may hold at most.
func (c *Cluster) limit() int64 { return max(0, min(c.Max, c.Room, MaxTotal)) }

// floor is what it gets before anybody gets more than that.
func (c *Cluster) floor() int64 { return min(c.Min, c.limit()) }

// kept is what the cluster has and may keep.
func (c *Cluster) kept() int64 { return max(0, min(c.Present, c.limit())) }

// A Division says how many replicas each cluster gets.
type Division struct {
	// Replicas by cluster, in the order of the clusters. It belongs to the Divider until its next call.
	Replicas []int64
	// Unplaced is how many of the total have no place.
	Unplaced int64
}

// A Divider divides, and keeps its memory for the next time. The zero value is ready. It serves one goroutine at a time.
type Divider struct {
	given, next []int64 // where each cluster stands, and the next rung
	spans       []span  // clusters with seats between the two
	seats       []seat
}

// Divide splits total over clusters. With rebalance it moves what it must to come to the split that the weights ask for;
// without, it moves as little as possible. A number out of its bounds is taken as the bound.
func (d *Divider) Divide(total int64, clusters []Cluster, rebalance bool) Division {
	left := min(max(total, 0), MaxTotal)
	d.given, d.next = grown(d.given, len(clusters)), grown(d.next, len(clusters))
	clear(d.given)
	for _, rung := range ladder {
		if left == 0 {
			break
		}
		if rung.settled && rebalance {
			continue
		}
		for i := range clusters {
			d.next[i] = max(d.given[i], rung.height(&clusters[i]))
		}
		left = d.fill(clusters, rung.evenly, left)
	}
	return Division{Replicas: d.given, Unplaced: left}
}

// A rung is how far every cluster is filled before the next rung begins.
type rung struct {
	height  func(*Cluster) int64
	evenly  bool // one by one, whatever the weights
	settled bool // keeps what stands: left out when rebalancing
}

var ladder = []rung{
	{height: func(c *Cluster) int64 {
		if c.First {
			return c.floor()
		}
		return 0
	}, evenly: true},
	{height: (*Cluster).floor, evenly: true},
	{height: func(c *Cluster) int64 {
		if c.Frozen {
			return c.kept()
		}
		return 0
	}},
	{height: (*Cluster).kept, settled: true},
	{height: func(c *Cluster) int64 {
		if c.NewWeight <= 0 {
			return c.kept()
		}
		return c.limit()
	}},
}

// fill gives left replicas to the seats between given and next and returns how many are left after.
func (d *Divider) fill(clusters []Cluster, evenly bool, left int64) int64 {
	seats := int64(0)
	for i := range clusters {
		seats += d.next[i] - d.given[i]
	}
	if seats > left {
		d.pick(clusters, evenly, left)
		return 0
	}
	d.given, d.next = d.next, d.given
	return left - seats
}

// grown is s with length n, of whatever content.
func grown(s []int64, n int) []int64 {
	if cap(s) < n {
		return make([]int64, n)
	}
	return s[:n]
}
