// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sched

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-io/weir/sched/filter"
	"github.com/weir-io/weir/sched/fit"
	"github.com/weir-io/weir/sched/reason"
)

// explain gives a reason for every cluster that was left out or has less than its share.
func (b *Batch) explain(d *Decision, r *Request, all []candidate) {
	d.Reasons = b.reasons[:0]
	missing := b.missing(d, r)
	weights, selected := int64(0), missing
	for i := range all {
		weights += all[i].weight
		selected = selected || all[i].code != reason.NotSelected
	}
	if !selected {
		d.Reasons = append(d.Reasons, reason.Reason{Code: reason.NoCluster, Message: "no registered cluster is one that the placement means"})
	}
	for i := range all {
		c := &all[i]
		switch {
		case c.outcome != filter.Open:
			b.because(d, i, c.code, c.message)
		default:
			share := int64(0)
			if weights > 0 {
				share = c.weight * d.Wanted / weights
			}
			b.explainOpen(d, i, c, share)
		}
	}
	if missing {
		slices.SortStableFunc(d.Reasons, func(a, b reason.Reason) int { return strings.Compare(a.Cluster, b.Cluster) })
	}
	b.reasons, d.Reasons = d.Reasons, slices.Clone(d.Reasons)
}

// missing gives a reason for each cluster that the request names and nobody registered.
func (b *Batch) missing(d *Decision, r *Request) bool {
	found := false
	for _, name := range slices.Sorted(maps.Keys(r.Where.Names)) {
		if _, ok := b.fleet.index[name]; !ok && r.Where.Names[name] {
			d.Reasons = append(d.Reasons, reason.Reason{Cluster: name, Code: reason.NoCluster, Message: "no cluster of this name is registered"})
			found = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Current)) {
		if _, ok := b.fleet.index[name]; !ok && !r.Where.Names[name] {
			d.Reasons = append(d.Reasons, reason.Reason{Cluster: name, Code: reason.NoCluster, Message: "replicas stand there, and no cluster of this name is registered"})
			found = true
		}
	}
	return found
}

func (b *Batch) because(d *Decision, i int, code reason.Code, message string) {
	d.Reasons = append(d.Reasons, reason.Reason{Cluster: b.fleet.members[i].view.Cluster, Code: code, Message: message})
}

// explainOpen tells what is odd about an open cluster, and why it has not more where more was due.
func (b *Batch) explainOpen(d *Decision, i int, c *candidate, share int64) {
	m := &b.fleet.members[i]
	if m.filter.Health == filter.Suspect {
		b.because(d, i, reason.Suspect, "beats are late: the cluster keeps its replicas, and new ones count half")
	}
	if c.soft {
		b.because(d, i, reason.SoftTaint, "a PreferNoSchedule taint is not tolerated: new replicas count half")
	}
	if m.old != "" {
		b.because(d, i, reason.OldView, m.old)
	}
	least := min(c.bounds.Min, c.bounds.Max)
	if c.given < least && d.Wanted > 0 {
		b.because(d, i, reason.BelowMinimum, b.short(c.given, least))
	}
	nothing := c.given == 0 && d.Wanted > 0
	due := max(share, min(least, d.Wanted), c.present)
	switch full := c.given >= c.room && c.room < c.bounds.Max; {
	case full && (d.Unplaced > 0 || nothing || c.given < due):
		code, message := b.lack(i, c)
		b.because(d, i, code, message)
	case !full && (d.Unplaced > 0 || nothing):
		b.explainBounds(d, i, c, least)
	}
}

// explainBounds tells which of its bounds keeps a cluster that has room from having more.
func (b *Batch) explainBounds(d *Decision, i int, c *candidate, least int64) {
	switch {
	case c.given >= c.bounds.Max:
		b.because(d, i, reason.AtMaximum, atMaximum(c.bounds))
	case c.fresh == 0:
		b.because(d, i, reason.NoWeight, "its weight is 0: it gets no more than its minimum")
	case c.given >= least:
		b.because(d, i, reason.NoShare, "its share of the replicas is none")
	}
}

// atMaximum names who set the maximum.
func atMaximum(b Bounds) string {
	if b.First && b.Min == b.Max {
		return fmt.Sprintf("its override pins it to %d", b.Max)
	}
	return fmt.Sprintf("the preference lets it have %d", b.Max)
}

// lack says why no more fit.
func (b *Batch) lack(i int, c *candidate) (reason.Code, string) {
	if c.full {
		return reason.PlacementFailed, "its view shows room, and pods of the workload found no node there: it counts as full for a while"
	}
	if c.fits > 0 {
		return reason.NoRoom, fmt.Sprintf("its nodes have room for %d in all", c.room)
	}
	if c.seeker.Pod().Apart && c.running > 0 {
		return reason.NoRoom, fmt.Sprintf("no two replicas may share a node, and nodes that run one already: %d", c.running)
	}
	lack, message := c.seeker.Explain(b.room(i))
	switch lack {
	case fit.NoNode:
		return reason.NoMatchingNode, message
	case fit.NoShape:
		return reason.NoFittingShape, message
	case fit.NoSum:
	}
	return reason.NoRoom, message
}

// short is the text for a cluster below its minimum. It is kept, for where a total falls short of the minima of a thousand
// clusters it is the same for nearly all of them.
func (b *Batch) short(given, least int64) string {
	if b.shortText == "" || b.shortOf != [2]int64{given, least} {
		b.shortOf, b.shortText = [2]int64{given, least}, fmt.Sprintf("it has %d of its minimum of %d", given, least)
	}
	return b.shortText
}
