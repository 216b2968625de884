// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestTheFiveEventsChangeWhatTheySay(t *testing.T) {
	b := bookOf(t, plain("a"))
	take(t, b, Event{Kind: NodeAdded, Node: plain("b")})
	take(t, b, Event{Kind: PodAssigned, Name: "a", Pod: "p", Amounts: pod(500, 1<<30)})
	take(t, b, Event{Kind: PodAssigned, Name: "b", Pod: "q", Amounts: pod(250, 1<<20)})
	take(t, b, Event{Kind: PodDeleted, Name: "b", Pod: "q", Amounts: pod(250, 1<<20)})
	take(t, b, Event{Kind: NodeUpdated, Name: "b", Changed: FieldTaints | FieldAllocatable, Node: &Node{
		Taints: []Taint{{"gpu", "", "NoSchedule"}}, Allocatable: Amounts{{CPU, 8000}, {"nvidia.com/gpu", 2}, {Pods, 110}},
		Labels: []Label{{"not", "told"}},
	}})
	a, c := plain("a"), plain("b")
	a.Allocated = pod(500, 1<<30)
	c.Taints = []Taint{{"gpu", "", "NoSchedule"}}
	c.Allocatable = Amounts{{CPU, 8000}, {"nvidia.com/gpu", 2}, {Pods, 110}}
	differ(t, "nodes", []Node{*a, *c}, contents(b.View()))
	differ(t, "sums", counted(b.View()), summed(b.View()))
	take(t, b, Event{Kind: NodeDeleted, Name: "a"})
	differ(t, "nodes", []Node{*c}, contents(b.View()))
	if got := b.View().Version(); got != 7 {
		t.Errorf("version %d after the snapshot and six events", got)
	}
}

func TestPodsOfACordonedNodeChangeNothingUntilItIsAddedAgain(t *testing.T) {
	b := bookOf(t, plain("a"), plain("b"))
	take(t, b, Event{Kind: PodAssigned, Name: "a", Pod: "p", Amounts: pod(500, 1)})
	take(t, b, Event{Kind: NodeDeleted, Name: "a", Cordoned: true})
	without := contents(b.View())
	take(t, b, Event{Kind: PodDeleted, Name: "a", Pod: "p", Amounts: pod(500, 1)})
	differ(t, "after a pod of the cordoned node went", without, contents(b.View()))
	again := plain("a")
	again.Allocated = pod(100, 1)
	take(t, b, Event{Kind: NodeAdded, Node: again})
	differ(t, "after it was uncordoned", []Node{*again, *plain("b")}, contents(b.View()))
	differ(t, "sums", counted(b.View()), summed(b.View()))
}

func TestANodeThatTakesNoPodsIsInNoSum(t *testing.T) {
	b := bookOf(t, plain("a"), plain("b"))
	take(t, b, Event{Kind: PodAssigned, Name: "b", Pod: "p", Amounts: pod(500, 1)})
	take(t, b, Event{Kind: NodeUpdated, Name: "b", Changed: FieldConditions, Node: &Node{Conditions: ready.With(Ready, Unknown)}})
	differ(t, "sums", summary{2, 1, plain("a").Allocatable, nil}, summed(b.View()))
	take(t, b, Event{Kind: PodDeleted, Name: "b", Pod: "p", Amounts: pod(500, 1)})
	take(t, b, Event{Kind: NodeUpdated, Name: "b", Changed: FieldConditions, Node: &Node{Conditions: ready}})
	differ(t, "sums", counted(b.View()), summed(b.View()))
}

func TestAnEventTakesEffectOnceAndInItsTurn(t *testing.T) {
	b := bookOf(t, plain("a"))
	e := Event{Sequence: 2, Kind: PodAssigned, Name: "a", Pod: "p", Amounts: pod(500, 1)}
	e.ID = IDOf(7, &e)
	other := Event{Sequence: 2, Kind: PodAssigned, Name: "a", Pod: "q", Amounts: pod(500, 1)}
	other.ID = IDOf(7, &other)
	early := e
	early.Sequence = 4
	steps := []struct {
		name  string
		event Event
		want  Order
	}{
		{"the next", e, Next},
		{"the same again", e, Repeat},
		{"another one under its number", other, Conflict},
		{"one before the snapshot", Event{Sequence: 1}, Repeat},
		{"one too early", early, Early},
	}
	for _, s := range steps {
		if got, err := b.Take(&s.event); got != s.want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", s.name, got, err, s.want)
		}
	}
	if got := b.View().Allocated().Of(CPU); got != 500 || b.Version() != 2 {
		t.Errorf("allocated %d at version %d", got, b.Version())
	}
}

func TestAFaultSaysWhatItIsAndChangesNothing(t *testing.T) {
	big := func(change func(*Node)) Event {
		n := plain("new")
		change(n)
		return Event{Kind: NodeAdded, Node: n}
	}
	many := func(n int) Amounts {
		m := map[string]int64{}
		for i := range n {
			m[fmt.Sprint("r", i)] = 1
		}
		return MakeAmounts(m)
	}
	cases := map[string]struct {
		event Event
		kind  FaultKind
		says  string
	}{
		"no kind":              {Event{}, Invalid, "kind"},
		"no node":              {Event{Kind: NodeAdded}, Invalid, "not told"},
		"no change":            {Event{Kind: NodeUpdated, Name: "a"}, Invalid, "no change"},
		"no name":              {big(func(n *Node) { n.Name = "" }), Invalid, "0 characters"},
		"a long name":          {big(func(n *Node) { n.Name = strings.Repeat("x", 400) }), Invalid, "400 characters"},
		"known already":        {Event{Kind: NodeAdded, Node: plain("a")}, OutOfStep, "there already"},
		"unknown to update":    {Event{Kind: NodeUpdated, Name: "x", Changed: FieldTaints, Node: &Node{}}, OutOfStep, "not there"},
		"unknown to delete":    {Event{Kind: NodeDeleted, Name: "x"}, OutOfStep, "not there"},
		"negative allocatable": {big(func(n *Node) { n.Allocatable = Amounts{{CPU, -1}} }), Invalid, "is -1"},
		"negative allocated":   {big(func(n *Node) { n.Allocated = Amounts{{CPU, math.MinInt64}} }), Invalid, "allocated"},
		"huge":                 {big(func(n *Node) { n.Allocatable = Amounts{{Memory, math.MaxInt64}} }), TooMuch, "at most"},
		"huge reserved":        {big(func(n *Node) { n.Reserved = Amounts{{Memory, MaxAmount + 1}} }), TooMuch, "reserved"},
		"unsorted":             {big(func(n *Node) { n.Allocatable = Amounts{{Pods, 1}, {CPU, 1}} }), Invalid, "out of order"},
		"many resources":       {big(func(n *Node) { n.Allocatable = many(40) }), TooMuch, "40 resources"},
		"many labels":          {big(func(n *Node) { n.Labels = make([]Label, 300) }), TooMuch, "300 of them"},
		"many taints":          {big(func(n *Node) { n.Taints = make([]Taint, 100) }), TooMuch, "100 of them"},
		"a label twice":        {big(func(n *Node) { n.Labels = []Label{{"a", "1"}, {"a", "2"}} }), Invalid, "twice"},
		"an empty label":       {big(func(n *Node) { n.Labels = []Label{{"", "1"}} }), Invalid, "labels"},
		"an empty taint":       {big(func(n *Node) { n.Taints = []Taint{{}} }), Invalid, "taints"},
		"update to negative":   {Event{Kind: NodeUpdated, Name: "a", Changed: FieldAllocatable, Node: &Node{Allocatable: Amounts{{CPU, -5}}}}, Invalid, "is -5"},
		"a huge pod":           {Event{Kind: PodAssigned, Name: "a", Amounts: pod(math.MaxInt64, 1)}, TooMuch, "at most"},
		"pods that add up":     {Event{Kind: PodAssigned, Name: "a", Amounts: pod(MaxAmount, 1)}, TooMuch, "pods on node"},
		"a negative pod":       {Event{Kind: PodAssigned, Name: "a", Amounts: Amounts{{CPU, -100}}}, Invalid, "is -100"},
		"gives back too much":  {Event{Kind: PodDeleted, Name: "a", Amounts: pod(501, 1)}, OutOfStep, "gives back 501"},
		"gives back the new":   {Event{Kind: PodDeleted, Name: "a", Amounts: Amounts{{"gpu", 1}}}, OutOfStep, "0 was taken"},
		"a pod without a node": {Event{Kind: PodAssigned, Amounts: pod(1, 1)}, Invalid, "node name"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := plain("a")
			a.Allocated = pod(500, 1<<30)
			b := bookOf(t, a)
			before := contents(b.View())
			c.event.Sequence = 2
			_, err := b.Take(&c.event)
			var f *FaultError
			if !errors.As(err, &f) || f.Kind != c.kind || !strings.Contains(f.Reason, c.says) {
				t.Errorf("got %v, want kind %d with %q", err, c.kind, c.says)
			}
			differ(t, "nodes", before, contents(b.View()))
			differ(t, "sums", counted(b.View()), summed(b.View()))
			if b.Version() != 1 {
				t.Errorf("version %d", b.Version())
			}
		})
	}
}

func TestAViewIsBoundedAsAWhole(t *testing.T) {
	fill := func(node func(i int) *Node) error {
		b := NewBook(1)
		for i := range MaxNodes + 1 {
			if err := b.Add(node(i)); err != nil {
				return fmt.Errorf("node %d: %w", i, err)
			}
		}
		return nil
	}
	cases := map[string]struct {
		node func(int) *Node
		says string
	}{
		"nodes": {func(i int) *Node { return &Node{Name: fmt.Sprint("n", i)} }, "more than 20000 nodes"},
		"text": {func(i int) *Node {
			n := &Node{Name: fmt.Sprint("n", i)}
			for l := range 250 {
				n.Labels = append(n.Labels, Label{fmt.Sprintf("%03d%s", l, strings.Repeat("k", 300)), fmt.Sprint(i)})
			}
			return n
		}, "32 MiB"},
		"resources": {func(i int) *Node {
			return &Node{Name: fmt.Sprint("n", i), Allocatable: Amounts{{fmt.Sprint("r", i), 1}}}
		}, "64 resources"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var f *FaultError
			if err := fill(c.node); !errors.As(err, &f) || f.Kind != TooMuch || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

func TestResourcesThatAreGoneMakeRoomForNewOnes(t *testing.T) {
	b := bookOf(t, plain("a"))
	for i := range 3 * MaxResources {
		name := fmt.Sprintf("vendor.example/r%d", i)
		take(t, b, Event{Kind: NodeUpdated, Name: "a", Changed: FieldAllocatable, Node: &Node{Allocatable: Amounts{{CPU, 4000}, {name, 1}}}})
		if got := b.View().Allocatable(); len(got) != 2 || got.Of(name) != 1 {
			t.Fatalf("%d: %v", i, got)
		}
	}
	differ(t, "sums", counted(b.View()), summed(b.View()))
}

func TestAViewNeverChanges(t *testing.T) {
	b := bookOf(t, manyNodes(200)...)
	first := b.View()
	before, sums := contents(first), summed(first)
	for i, n := range manyNodes(200) {
		switch i % 4 {
		case 0:
			take(t, b, Event{Kind: NodeDeleted, Name: n.Name})
		case 1:
			take(t, b, Event{Kind: PodAssigned, Name: n.Name, Amounts: pod(1, 1)})
		case 2:
			take(t, b, Event{Kind: NodeUpdated, Name: n.Name, Changed: FieldLabels | FieldAllocatable, Node: &Node{Allocatable: Amounts{{"gpu", 1}}}})
		case 3:
			take(t, b, Event{Kind: NodeAdded, Node: plain(fmt.Sprint("new-", i))})
		}
	}
	differ(t, "nodes of the first view", before, contents(first))
	differ(t, "sums of the first view", sums, summed(first))
	differ(t, "sums of the last view", counted(b.View()), summed(b.View()))
}

// TestPodsFillABookToItsBoundOnly: a number for each resource stands on every node, wherever the pod is that named it first.
func TestPodsFillABookToItsBoundOnly(t *testing.T) {
	b := bookOf(t, manyNodes(MaxNodes)...)
	b.bytes = MaxBytes - b.count*(len(b.resources)+2)*16 // As if their labels were so long.
	for i := range 2 {
		take(t, b, Event{Kind: PodAssigned, Name: b.chunks[0].nodes[0].name, Pod: "p", Amounts: Amounts{{fmt.Sprint("r", i), 1}}})
	}
	before := len(b.resources)
	_, err := b.Take(&Event{Sequence: b.Version() + 1, Kind: PodAssigned, Name: b.chunks[0].nodes[0].name, Pod: "p", Amounts: Amounts{{"r2", 1}}})
	var f *FaultError
	if !errors.As(err, &f) || f.Kind != TooMuch || len(b.resources) != before {
		t.Fatalf("a third resource was taken: %v, %d resources", err, len(b.resources))
	}
}
