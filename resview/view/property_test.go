// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// member is a member as it is, from which both a snapshot and the events are told.
type member struct {
	nodes map[string]*Node
	pods  map[string]assigned
	next  int
}

type assigned struct {
	node    string
	amounts Amounts
}

func (m *member) anyNode(t *rapid.T) string {
	return rapid.SampledFrom(slices.Sorted(maps.Keys(m.nodes))).Draw(t, "node")
}

// happen draws one thing that happens, and returns how it is told.
func (m *member) happen(t *rapid.T) Event {
	kind := rapid.SampledFrom([]Kind{NodeAdded, NodeUpdated, NodeDeleted, PodAssigned, PodAssigned, PodAssigned, PodDeleted, PodDeleted}).Draw(t, "kind")
	switch {
	case len(m.nodes) == 0, kind == NodeAdded:
		m.next++
		n := drawNode(t, fmt.Sprint("n", m.next))
		kept := *n
		m.nodes[n.Name] = &kept
		return Event{Kind: NodeAdded, Node: n}
	case kind == NodeUpdated:
		name := m.anyNode(t)
		n := drawNode(t, name)
		fields := Fields(rapid.IntRange(1, 31).Draw(t, "fields"))
		m.nodes[name].take(fields, n)
		return Event{Kind: NodeUpdated, Name: name, Node: n, Changed: fields}
	case kind == NodeDeleted:
		name := m.anyNode(t)
		delete(m.nodes, name)
		maps.DeleteFunc(m.pods, func(_ string, p assigned) bool { return p.node == name })
		return Event{Kind: NodeDeleted, Name: name}
	case kind == PodDeleted && len(m.pods) > 0:
		uid := rapid.SampledFrom(slices.Sorted(maps.Keys(m.pods))).Draw(t, "pod")
		p := m.pods[uid]
		delete(m.pods, uid)
		m.add(p, -1)
		return Event{Kind: PodDeleted, Name: p.node, Pod: uid, Amounts: p.amounts}
	}
	m.next++
	uid, p := fmt.Sprint("p", m.next), assigned{m.anyNode(t), drawAmounts(t, "requests")}
	m.pods[uid] = p
	m.add(p, 1)
	return Event{Kind: PodAssigned, Name: p.node, Pod: uid, Amounts: p.amounts}
}

func (m *member) add(p assigned, sign int64) {
	n, sum := m.nodes[p.node], map[string]int64{}
	for _, a := range n.Allocated {
		sum[a.Name] += a.Value
	}
	for _, a := range p.amounts {
		sum[a.Name] += sign * a.Value
	}
	n.Allocated = MakeAmounts(sum)
}

func (n *Node) take(fields Fields, from *Node) {
	for field, copied := range map[Fields]func(){
		FieldAllocatable: func() { n.Allocatable = from.Allocatable }, FieldReserved: func() { n.Reserved = from.Reserved },
		FieldLabels: func() { n.Labels = from.Labels }, FieldTaints: func() { n.Taints = from.Taints },
		FieldConditions: func() { n.Conditions = from.Conditions },
	} {
		if fields&field != 0 {
			copied()
		}
	}
}

func drawAmounts(t *rapid.T, what string) Amounts {
	return MakeAmounts(rapid.MapOfN(rapid.SampledFrom([]string{CPU, Memory, Pods, EphemeralStorage, "gpu", "fpga"}), rapid.Int64Range(0, 1000), 0, 5).Draw(t, what))
}

func drawNode(t *rapid.T, name string) *Node {
	n := &Node{Name: name, Allocatable: drawAmounts(t, "allocatable"), Reserved: drawAmounts(t, "reserved")}
	for _, key := range []string{"pool", "zone"} {
		if v := rapid.StringMatching(`[a-z]{0,3}`).Draw(t, key); v != "" {
			n.Labels = append(n.Labels, Label{key, v})
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "taints") {
		n.Taints = append(n.Taints, Taint{"k", rapid.StringMatching(`[a-z]?`).Draw(t, "taint"), "NoSchedule"})
	}
	for kind := range conditionKinds {
		n.Conditions = n.Conditions.With(kind, Status(rapid.IntRange(0, 3).Draw(t, "status")))
	}
	return n
}

// TestASnapshotIsTheSumOfItsEvents: whatever happens, and wherever views are taken and events come twice meanwhile.
func TestASnapshotIsTheSumOfItsEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &member{nodes: map[string]*Node{}, pods: map[string]assigned{}}
		b := NewBook(3)
		var told []Event
		var seen []*View
		var seenAs [][]Node
		for range rapid.IntRange(0, 80).Draw(t, "events") {
			e := m.happen(t)
			e.Sequence = b.Version() + 1
			e.ID = IDOf(3, &e)
			told = append(told, e)
			if order, err := b.Take(&e); order != Next || err != nil {
				t.Fatalf("%+v: %d, %v", e, order, err)
			}
			if rapid.Bool().Draw(t, "look") {
				seen = append(seen, b.View())
				seenAs = append(seenAs, contents(b.View()))
			}
			again := told[rapid.IntRange(0, len(told)-1).Draw(t, "again")]
			if order, err := b.Take(&again); order != Repeat || err != nil {
				t.Fatalf("again %+v: %d, %v", again, order, err)
			}
		}
		fresh := NewBook(3)
		for _, n := range m.nodes {
			if err := fresh.Add(n); err != nil {
				t.Fatal(err)
			}
		}
		fresh.Seal(b.Version())
		differ(t, "nodes", contents(fresh.View()), contents(b.View()))
		differ(t, "sums", counted(b.View()), summed(b.View()))
		differ(t, "shapes", fresh.View().Shapes(), b.View().Shapes())
		differ(t, "largest", fresh.View().Largest(8), b.View().Largest(8))
		for i, v := range seen {
			differ(t, "a view that was taken earlier", seenAs[i], contents(v))
		}
	})
}

// TestEveryNodeIsInOneShape: shapes are the nodes, counted.
func TestEveryNodeIsInOneShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := NewBook(1)
		for i := range rapid.IntRange(0, 150).Draw(t, "nodes") {
			n := plain(fmt.Sprint("n", i))
			n.Allocated = pod(rapid.Int64Range(0, 3).Draw(t, "cpu"), 1)
			n.Labels = []Label{{"zone", rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone")}}
			if err := b.Add(n); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]int{}
		key := func(labels []Label, allocated Amounts) string { return fmt.Sprint(labels, allocated) }
		for n := range b.View().All() {
			want[key(n.Labels, n.Allocated)]++
		}
		got := map[string]int{}
		for _, s := range b.View().Shapes() {
			got[key(s.Labels, s.Allocated)] += s.Count
		}
		if !maps.Equal(want, got) || len(b.View().Shapes()) != len(want) {
			t.Fatalf("want %v, got %v", want, got)
		}
	})
}

// TestNothingFreeIsLeftOut: each usable node's room is covered by one of the largest shapes, and each of these is the room
// of a node that is there.
func TestNothingFreeIsLeftOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := NewBook(1)
		for i := range rapid.IntRange(0, 40).Draw(t, "nodes") {
			n := drawNode(t, fmt.Sprint("n", i))
			n.Allocated = drawAmounts(t, "allocated")
			if err := b.Add(n); err != nil {
				t.Fatal(err)
			}
		}
		v := b.View()
		largest := v.Largest(100)
		for n := range v.All() {
			if !n.Conditions.Usable() || n.Allocatable.Of(Pods) <= n.Allocated.Of(Pods) {
				continue
			}
			some := false
			covered := func(f Free) bool {
				for _, name := range v.resources {
					if name != Pods && name != EphemeralStorage && f.Amounts.Of(name) < n.Allocatable.Of(name)-n.Allocated.Of(name) {
						return false
					}
				}
				return true
			}
			for _, m := range n.Allocatable {
				some = some || m.Name != Pods && m.Name != EphemeralStorage && m.Value > n.Allocated.Of(m.Name)
			}
			if some && !slices.ContainsFunc(largest, covered) {
				t.Fatalf("%+v is in none of %+v", n, largest)
			}
		}
		for _, f := range largest {
			if f.Nodes < 1 {
				t.Fatalf("no node has %+v", f)
			}
		}
	})
}
