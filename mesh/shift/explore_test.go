// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// coverage sums up what the suites reached.
type coverage struct {
	kinds   map[Kind]int
	codes   map[Code]int
	tempted map[Invariant]int
	states  map[string]int
	total   int
}

func newCoverage() *coverage {
	return &coverage{
		kinds: make(map[Kind]int), codes: make(map[Code]int), tempted: make(map[Invariant]int), states: make(map[string]int),
	}
}

func (c *coverage) add(g *graph) {
	for k, n := range g.kinds {
		c.kinds[k] += n
	}
	for k, n := range g.codes {
		c.codes[k] += n
	}
	for k, n := range g.tempted {
		c.tempted[k] += n
	}
	c.states[strings.ReplaceAll(g.suite.name, " ", "-")] += len(g.keys)
	c.total += len(g.keys)
}

// check walks one suite to its end and fails on any wrong step or dead end.
func check(t *testing.T, u *suite, cover *coverage) (states, transitions, longest int) {
	t.Helper()
	g := newGraph(u, Next)
	g.every = 8
	g.walk()
	if g.complaint == "" {
		longest = g.ends()
	}
	if g.complaint != "" {
		t.Fatalf("%s, before %v, replicas %s, steering %s: %s", u.name, u.before, u.replicas, u.steering, g.complaint)
	}
	cover.add(g)
	return len(g.keys), len(g.dst), longest
}

// TestExploreEveryReachableStateKeepsTheInvariants also asks that every shift ends: fair
// moves never go in circles and come to rest at Done only.
func TestExploreEveryReachableStateKeepsTheInvariants(t *testing.T) {
	cover := newCoverage()
	t.Logf("%-30s %9s %11s %8s", "suite", "states", "transitions", "longest")
	for _, u := range suites() {
		states, transitions, longest := check(t, u, cover)
		t.Logf("%-30s %9d %11d %8d", u.name, states, transitions, longest)
	}
	states, transitions, longest := 0, 0, 0
	for _, u := range sweep() {
		s, tr, l := check(t, u, cover)
		states, transitions, longest = states+s, transitions+tr, max(longest, l)
	}
	t.Logf("%-30s %9d %11d %8d", fmt.Sprintf("sweep of %d starts", len(sweep())), states, transitions, longest)
	t.Logf("states in all: %d", cover.total)
	cover.report(t)
	cover.floor(t)
}

// report prints how often each step, reason and invariant came up, and fails where one
// never did.
func (c *coverage) report(t *testing.T) {
	t.Helper()
	for k := range kindNames {
		t.Logf("step %-18s %9d states", Kind(k), c.kinds[Kind(k)])
		if c.kinds[Kind(k)] == 0 {
			t.Errorf("step %s is never taken", Kind(k))
		}
	}
	for k := range codeNames {
		t.Logf("reason %-16s %9d states", Code(k), c.codes[Code(k)])
		if c.codes[Code(k)] == 0 && Code(k) != SharedPods { // of two services, and this is a model of one
			t.Errorf("reason %s is never given", Code(k))
		}
	}
	for v := Fits; v <= OneWrite; v++ {
		t.Logf("invariant %-13s forbade a careless step %d times", v, c.tempted[v])
		if c.tempted[v] == 0 {
			t.Errorf("invariant %s never mattered", v)
		}
	}
}

// floor compares with the committed least: a model that shrinks by accident proves less.
func (c *coverage) floor(t *testing.T) {
	t.Helper()
	f, err := os.Open("testdata/explore.floor")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	left := len(c.states)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var name string
		var least int
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		if _, err := fmt.Sscanf(lines.Text(), "%s %d", &name, &least); err != nil {
			t.Fatalf("testdata/explore.floor: %q: %v", lines.Text(), err)
		}
		left--
		if c.states[name] < least {
			t.Errorf("suite %s reached %d states, want %d at least", name, c.states[name], least)
		}
	}
	if left != 0 {
		t.Errorf("testdata/explore.floor and the suites differ by %d lines", left)
	}
}
