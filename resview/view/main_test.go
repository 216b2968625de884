// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var ready = Conditions(0).With(Ready, True)

// plain is a usable node with four cores, 16 GiB and room for 110 pods.
func plain(name string) *Node {
	return &Node{
		Name:        name,
		Allocatable: Amounts{{CPU, 4000}, {Memory, 16 << 30}, {Pods, 110}},
		Reserved:    Amounts{{CPU, 100}, {Memory, 1 << 30}},
		Labels:      []Label{{"topology.kubernetes.io/zone", "a"}},
		Conditions:  ready,
	}
}

func pod(cpu, memory int64) Amounts {
	return MakeAmounts(map[string]int64{CPU: cpu, Memory: memory, Pods: 1})
}

// bookOf holds nodes at version 1.
func bookOf(tb testing.TB, nodes ...*Node) *Book {
	tb.Helper()
	b := NewBook(7)
	for _, n := range nodes {
		if err := b.Add(n); err != nil {
			tb.Fatal(err)
		}
	}
	b.Seal(1)
	return b
}

// take applies an event under the next number.
func take(tb testing.TB, b *Book, e Event) {
	tb.Helper()
	e.Sequence = b.Version() + 1
	if order, err := b.Take(&e); order != Next || err != nil {
		tb.Fatalf("%+v: %d, %v", e, order, err)
	}
}

// contents are the nodes of a view by name.
func contents(v *View) []Node {
	return slices.SortedFunc(v.All(), func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
}

// summary is what a view says in all, by its own count.
type summary struct {
	nodes, usable          int
	allocatable, allocated Amounts
}

func summed(v *View) summary {
	all, usable := v.Nodes()
	return summary{all, usable, v.Allocatable(), v.Allocated()}
}

// counted is what a view says in all, counted anew from its nodes.
func counted(v *View) summary {
	var s summary
	allocatable, allocated := map[string]int64{}, map[string]int64{}
	for n := range v.All() {
		s.nodes++
		if !n.Conditions.Usable() {
			continue
		}
		s.usable++
		for _, m := range n.Allocatable {
			allocatable[m.Name] += m.Value
		}
		for _, m := range n.Allocated {
			allocated[m.Name] += m.Value
		}
	}
	s.allocatable, s.allocated = MakeAmounts(allocatable), MakeAmounts(allocated)
	return s
}

// tester is a test, or one run of a property.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
}

func differ(t tester, what string, want, got any) {
	t.Helper()
	opts := gocmp.Options{gocmp.AllowUnexported(summary{}), cmpopts.EquateEmpty()}
	if diff := gocmp.Diff(want, got, opts); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// manyNodes returns n nodes in a few sizes, zones and fillings.
func manyNodes(n int) []*Node {
	out := make([]*Node, 0, n)
	for i := range n {
		size := int64(4 << (i % 3))
		node := plain(fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", i>>16, i>>8&255, i&255))
		node.Allocatable = MakeAmounts(map[string]int64{CPU: size * 1000, Memory: size << 32, Pods: 110, EphemeralStorage: 100 << 30})
		node.Labels = []Label{
			{"beta.kubernetes.io/arch", "amd64"},
			{"kubernetes.io/os", "linux"},
			{"node.kubernetes.io/instance-type", fmt.Sprintf("m5.%dxlarge", size/4)},
			{"topology.kubernetes.io/region", "eu-central-1"},
			{"topology.kubernetes.io/zone", string(rune('a' + i%3))},
		}
		node.Allocated = pod(int64(i%int(size))*250, int64(i%7)<<30)
		out = append(out, node)
	}
	return out
}
