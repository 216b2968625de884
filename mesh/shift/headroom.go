// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"cmp"
	"slices"
)

// admit decides which clusters that shall leave may go on leaving now. The one that was
// asked for first comes first; a later one looks at what the earlier ones leave.
func (p *plan) admit() {
	var order []int
	for i := range p.Clusters {
		if p.leaving[i] {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.Clusters[a].Turn, p.Clusters[b].Turn) })
	gone := make([]bool, len(p.Clusters))
	first := -1
	for _, i := range order {
		p.held[i] = p.refuseLast(i, gone, first)
		if g := p.Clusters[i].Goal; !p.held[i] && (g == Drain || g == Move) {
			p.held[i] = g == Drain && p.refuseHalf(i, gone, first) || p.headroom(i, gone)
		}
		gone[i] = !p.held[i]
		for _, client := range p.Unweighted {
			if p.weighted() && gone[i] && !p.isOut(i) {
				p.block(Blocked{Code: Unsteered, Cluster: p.Clusters[i].Name, Subject: client, Wakes: ProofArrived, Note: true})
			}
		}
		if gone[i] && first < 0 {
			first = i
		}
	}
}

// isOut reports whether cluster i serves nothing any more, so that its leaving cannot
// take anything away.
func (p *plan) isOut(i int) bool {
	c := &p.Clusters[i]
	return c.Entry == Shut && c.Fenced == c.Ready && (!p.weighted() || c.Wrote == 0)
}

// refuseLast refuses to drain the last cluster that can serve, and to take the last
// ready copy, should the others have lost theirs since.
func (p *plan) refuseLast(i int, gone []bool, first int) bool {
	c := &p.Clusters[i]
	if c.Ready == 0 && c.Applied == 0 {
		return false // There is nothing to lose here.
	}
	for j := range p.Clusters {
		if j != i && !gone[j] && p.serving(j) > 0 {
			return false
		}
	}
	code := LastCluster
	if p.isOut(i) { // Too late to refuse the drain, early enough to keep the pods.
		code = LastCopy
	}
	p.block(Blocked{Code: code, Cluster: c.Name, Wakes: p.otherWakes(i, gone, first >= 0)})
	return true
}

// otherWakes is the event after which a cluster other than i may serve.
func (p *plan) otherWakes(i int, gone []bool, drained bool) Event {
	wakes := ReplicasReady
	if drained {
		wakes = DrainEnded
	}
	for j := range p.Clusters {
		c := &p.Clusters[j]
		switch {
		case j == i || gone[j]:
		case c.Sight == Blind:
			wakes = SightBack
		case c.Ready < max(c.Applied, p.pods[j]):
			return p.podsWake(j)
		case c.Fenced > 0 && !p.leaving[j]:
			return p.unfenceWakes()
		}
	}
	return wakes
}

// unfenceWakes is the event that lets weir take the fence off a cluster that is ready to
// come back.
func (p *plan) unfenceWakes() Event {
	switch {
	case p.Foreign != "":
		return ForeignGone
	case p.waitingFor() != NoSubject:
		return ProofArrived
	}
	return LeaseRenewed
}

// refuseHalf holds a later drain that, with the earlier ones, would leave less than
// half of the ready replicas that the service had before the first.
func (p *plan) refuseHalf(i int, gone []bool, first int) bool {
	c := &p.Clusters[i]
	if first < 0 || c.Accepted || p.isOut(i) {
		return false
	}
	var left, before int64
	for j := range p.Clusters {
		before += int64(p.Clusters[j].Before.Replicas)
		if j != i && !gone[j] {
			left += int64(p.serving(j))
		}
	}
	if 2*left >= before {
		return false
	}
	p.block(Blocked{
		Code: HalfLeft, Cluster: c.Name, Subject: p.Clusters[first].Name, Wakes: DrainEnded,
		Have: int32(left), Need: int32((before + 1) / 2),
	})
	return true
}

// headroom says when the clusters that stay would bear less than before, or could not
// bear the loss of one more, and holds the drain where the user wants to be asked.
func (p *plan) headroom(i int, gone []bool) bool {
	if p.isOut(i) {
		return false
	}
	var stay, before, largest int32
	name := ""
	for j := range p.Clusters {
		before += p.Clusters[j].Before.Replicas
		if j == i || gone[j] {
			continue
		}
		stay += p.pods[j]
		if p.pods[j] > largest {
			largest, name = p.pods[j], p.Clusters[j].Name
		}
	}
	c := &p.Clusters[i]
	b := Blocked{Code: HeadroomLost, Cluster: c.Name, Wakes: ConsentGiven, Have: stay, Need: before}
	if stay >= before {
		b.Subject, b.Have, b.Need = name, stay-largest, p.Demand
	}
	if b.Have >= b.Need {
		return false
	}
	b.Note = p.Headroom == Warn || c.Accepted || p.begun(c)
	p.consent = p.consent || !b.Note
	p.block(b)
	return !b.Note
}

// begun reports whether the move has already taken something from c. Consent is asked
// for before that, never half way.
func (p *plan) begun(c *Cluster) bool {
	return p.weighted() && p.Weights.Level != Unwritten && c.Wrote < c.Before.Share ||
		c.Entry == Shut || c.Fenced > 0 || c.DNS == Cached || c.DNS == Expired ||
		p.Replicas == Owned && c.Applied < c.Before.Replicas
}
