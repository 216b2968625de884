// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"fmt"
	"slices"
	"strings"
)

// decider is Next, or a mutant of it.
type decider func(State) (Step, []Blocked)

// graph is all that was reached, with the edges that a fair environment and weir take.
type graph struct {
	suite *suite
	next  decider

	keys   []key
	index  map[key]int32
	parent []int32
	// Edges of node i are dst[from[i]:from[i+1]].
	from  []uint32
	dst   []int32
	event []Event
	kind  []Kind
	wakes []uint32 // Bits of the events that the node's reasons name.

	kinds     map[Kind]int
	codes     map[Code]int
	tempted   map[Invariant]int
	every     int // One state in so many is tempted.
	wrong     []Invariant
	complaint string
	// hunt makes the walk go on past other wrong steps until this invariant breaks.
	hunt Invariant
}

func newGraph(u *suite, next decider) *graph {
	return &graph{
		suite: u, next: next, index: make(map[key]int32),
		kinds: make(map[Kind]int), codes: make(map[Code]int), tempted: make(map[Invariant]int),
	}
}

// walk goes everywhere, breadth first, and stops at the first wrong step.
func (g *graph) walk() {
	u := g.suite
	g.add(u.start(), -1)
	for i := 0; i < len(g.keys) && g.complaint == ""; i++ {
		g.from = append(g.from, uint32(len(g.dst)))
		g.expand(int32(i))
	}
	g.from = append(g.from, uint32(len(g.dst)))
}

func (g *graph) add(w world, parent int32) int32 {
	k := w.pack()
	if i, ok := g.index[k]; ok {
		return i
	}
	i := int32(len(g.keys))
	g.index[k] = i
	g.keys = append(g.keys, k)
	g.parent = append(g.parent, parent)
	return i
}

func (g *graph) edge(e Event, to int32) {
	g.dst = append(g.dst, to)
	g.event = append(g.event, e)
}

func (g *graph) expand(i int32) {
	u, w := g.suite, g.keys[i].unpack()
	s := u.believed(&w)
	step, why := g.next(s)
	g.kind = append(g.kind, step.Kind)
	g.kinds[step.Kind]++
	var wakes uint32
	for _, b := range why {
		g.codes[b.Code]++
		if !b.Note {
			wakes |= 1 << b.Wakes
		}
	}
	g.wakes = append(g.wakes, wakes)
	if step.Kind == Wait && wakes == 0 {
		g.fail(i, fmt.Sprintf("waits without a reason: %v", why), Ends)
		return
	}
	after := u.apply(w, step)
	if step.Kind != Wait || len(step.Finished) > 0 {
		broken := Violations(u.truth(&w), step, u.common(&after))
		if g.hunt != 0 && !slices.Contains(broken, g.hunt) {
			broken = nil
		}
		if len(broken) > 0 {
			g.fail(i, fmt.Sprintf("%s of %q breaks %v", step.Kind, step.Cluster, broken), broken...)
			return
		}
	}
	if step.Kind != Wait && step.Kind != Done {
		g.edge(weirs, g.add(after, i))
	}
	if g.every > 0 && int(i)%g.every == 0 {
		g.tempt(w, &s)
	}
	if !w.record {
		return // Released: the move is over.
	}
	u.fair(w, func(e Event, n world) { g.edge(e, g.add(n, i)) })
	u.unfair(w, func(n world) { g.add(n, i) })
	u.asks(w, step.Kind == Done, func(n world) { g.add(n, i) })
}

// tempt asks the oracle about steps that a careless program would take here, and counts
// the invariants that forbid them: a guard that never matters is no guard.
func (g *graph) tempt(w world, s *State) {
	u := g.suite
	truth := u.truth(&w)
	try := func(step Step) {
		after := u.apply(w, step)
		for _, v := range Violations(truth, step, u.common(&after)) {
			g.tempted[v]++
		}
	}
	split := func(share func(c *Cluster) Permille) []Weight {
		out := make([]Weight, 0, len(s.Clusters))
		for i := range s.Clusters {
			if x := share(&s.Clusters[i]); x > 0 {
				out = append(out, Weight{Cluster: s.Clusters[i].Name, Share: x})
			}
		}
		return out
	}
	for i := range s.Clusters {
		c := &s.Clusters[i]
		switch {
		case u.leaves(&w, i):
			if c.Applied > 0 && u.replicas == Owned {
				try(Step{Kind: ReplicasDown, Cluster: c.Name})
			}
			if c.Fenced < c.Ready {
				try(Step{Kind: Fence, Cluster: c.Name, Fenced: c.Ready, Entry: Shut})
			}
			if u.steering == Always {
				try(Step{Kind: Split, Split: split(func(c *Cluster) Permille { return c.Target.Share })})
			}
			try(Step{Kind: Wait, Finished: []string{c.Name}})
		case c.Goal == Move && c.Applied > c.Target.Replicas && u.replicas == Owned:
			try(Step{Kind: ReplicasDown, Cluster: c.Name, Replicas: c.Target.Replicas})
		case c.Goal == Abort || c.Goal == Undrain:
			if c.Fenced > 0 || c.Entry == Shut {
				try(Step{Kind: Unfence, Cluster: c.Name})
			}
			if u.steering == Always {
				try(Step{Kind: Split, Split: split(func(c *Cluster) Permille { return c.Before.Share })})
			}
		}
	}
}

func (g *graph) fail(i int32, text string, broken ...Invariant) {
	if g.complaint == "" {
		g.complaint, g.wrong = text+"\n"+g.path(i), broken
	}
}

// path tells how the start leads to node i.
func (g *graph) path(i int32) string {
	var nodes []int32
	for ; i >= 0; i = g.parent[i] {
		nodes = append(nodes, i)
	}
	var b strings.Builder
	for _, node := range slices.Backward(nodes) {
		w := g.keys[node].unpack()
		step, why := g.next(g.suite.believed(&w))
		fmt.Fprintf(&b, "  %s\n    -> %s %s %d/%d %v", w.text(g.suite), step.Kind, step.Cluster, step.Replicas, step.Fenced, step.Split)
		for _, x := range why {
			fmt.Fprintf(&b, " [%s %s %s]", x.Code, x.Cluster, x.Subject)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (w *world) text(u *suite) string {
	var b strings.Builder
	for i := range u.before {
		c := w.cells[i]
		fmt.Fprintf(&b, "%s{%s %d/%d/%d %s %s %s %s %s %s}", cellNames[i], c.goal, c.applied, c.ready, c.fenced, c.entry, c.dns, c.quiet, c.flight, c.sight, c.scaler)
	}
	for _, x := range w.proxies {
		fmt.Fprintf(&b, " p{%v w=%v f=%v st=%d}", u.splits[x.split][:len(u.before)], x.weights, x.fence, x.status)
	}
	fmt.Fprintf(&b, " wrote=%v rules=%s weights=%s/%s/%v fence=%s/%s/%v record=%v foreign=%v faults=%d",
		u.splits[w.wrote][:len(u.before)], w.rules, w.weights, w.weightsLease, w.weightsOverdue, w.fence, w.fenceLease, w.fenceOverdue, w.record, w.foreign, w.faults)
	return b.String()
}

// ends checks liveness on the graph: fair moves and weir's steps never go in circles,
// wherever they come to rest is Done, and every reason's event leads to a step. It
// returns the length of the longest fair way.
func (g *graph) ends() int {
	order := g.topological()
	if order == nil {
		return 0
	}
	longest := make([]int32, len(g.keys))
	wakes := make([]bool, len(g.keys))
	most := int32(0)
	for _, i := range slices.Backward(order) {
		lo, hi := g.from[i], g.from[i+1]
		if lo == hi && g.kind[i] != Done {
			g.fail(i, "comes to rest without Done", Ends)
			return 0
		}
		wakes[i] = g.kind[i] != Wait
		var enabled uint32
		for e := lo; e < hi; e++ {
			longest[i] = max(longest[i], longest[g.dst[e]]+1)
			if g.event[e] == weirs {
				continue
			}
			enabled |= 1 << g.event[e]
			if g.wakes[i]&(1<<g.event[e]) != 0 && wakes[g.dst[e]] {
				wakes[i] = true
			}
		}
		most = max(most, longest[i])
		if g.kind[i] == Wait && g.wakes[i]&^enabled != 0 {
			g.fail(i, "names an event that cannot come", Ends)
			return 0
		}
		if !wakes[i] {
			g.fail(i, "the events named lead to no step", Ends)
			return 0
		}
	}
	return int(most)
}

// topological orders the nodes along fair edges, or fails on a circle.
func (g *graph) topological() []int32 {
	in := make([]int32, len(g.keys))
	for _, d := range g.dst {
		in[d]++
	}
	order := make([]int32, 0, len(g.keys))
	for i := range in {
		if in[i] == 0 {
			order = append(order, int32(i))
		}
	}
	for j := 0; j < len(order); j++ {
		i := order[j]
		for e := g.from[i]; e < g.from[i+1]; e++ {
			if in[g.dst[e]]--; in[g.dst[e]] == 0 {
				order = append(order, g.dst[e])
			}
		}
	}
	if len(order) == len(g.keys) {
		return order
	}
	for i := range in {
		if in[i] > 0 {
			g.fail(int32(i), "goes in circles", Ends)
			return nil
		}
	}
	return nil
}
