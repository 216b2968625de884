// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weir-io/weir/resview/view"
)

// nodes is a NodeSource that a test changes at will.
type nodes struct {
	mu     sync.Mutex
	book   *view.Book // nil: not known yet
	events []TimedEvent
	wake   chan struct{}
	next   int
}

var usable = view.Conditions(0).With(view.Ready, view.True)

func oneNode(name string) *view.Node {
	return &view.Node{
		Name: name, Conditions: usable,
		Allocatable: view.Amounts{{Name: view.CPU, Value: 4000}, {Name: view.Pods, Value: 110}},
		Reserved:    view.Amounts{{Name: view.CPU, Value: 100}},
		Labels:      []view.Label{{Key: "topology.kubernetes.io/zone", Value: "a"}},
		Taints:      []view.Taint{{Key: "gpu", Value: "yes", Effect: "NoSchedule"}},
	}
}

// newNodes has this many nodes, at version 1.
func newNodes(n int) *nodes {
	s := &nodes{wake: make(chan struct{}, 1)}
	s.know(n)
	return s
}

func (s *nodes) know(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.book = view.NewBook(0)
	for i := range n {
		if err := s.book.Add(oneNode(fmt.Sprint("n", i))); err != nil {
			panic(err) // The test would be wrong.
		}
	}
	s.book.Seal(1)
	s.poke()
}

func (s *nodes) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// happen makes an event under the next number.
func (s *nodes) happen(e view.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Sequence = s.book.Version() + 1
	if _, err := s.book.Take(&e); err != nil {
		panic(err) // The test would be wrong.
	}
	s.events = append(s.events, TimedEvent{Event: e, At: time.Now()})
	s.poke()
}

// pods lets pods come to node n0, each with a thousandth of a core.
func (s *nodes) pods(n int) {
	for range n {
		s.next++
		s.happen(view.Event{Kind: view.PodAssigned, Name: "n0", Pod: fmt.Sprint("p", s.next), Amounts: view.Amounts{{Name: view.CPU, Value: 1}}})
	}
}

// forget drops the events that are kept.
func (s *nodes) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = nil
}

func (s *nodes) kept() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.events)
}

func (s *nodes) Changed() <-chan struct{} { return s.wake }

func (s *nodes) Snapshot() *view.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.book == nil {
		return nil
	}
	return s.book.View()
}

func (s *nodes) After(version uint64, limit int) ([]TimedEvent, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.book == nil {
		return nil, true
	}
	if last := s.book.Version(); version > last || last-version > uint64(len(s.events)) {
		return nil, false
	}
	from := s.events[len(s.events)-int(s.book.Version()-version):]
	return slices.Clone(from[:min(len(from), limit)]), true
}

func (s *nodes) Acknowledged(version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = slices.DeleteFunc(s.events, func(e TimedEvent) bool { return e.Sequence <= version })
}

// contents are the nodes of a view by name; none of no view.
func contents(v *view.View) []view.Node {
	if v == nil {
		return nil
	}
	return slices.SortedFunc(v.All(), func(a, b view.Node) int { return strings.Compare(a.Name, b.Name) })
}

// tester is a test, or one run of a property.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// same fails a test whose hub has other nodes than its agent.
func same(t tester, agent, hub *view.View) {
	t.Helper()
	if hub == nil || hub.Version() != agent.Version() {
		t.Fatalf("the hub has %v, the agent version %d", hub, agent.Version())
	}
	if diff := cmp.Diff(contents(agent), contents(hub), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("hub differs from agent (-agent +hub):\n%s", diff)
	}
}

// nodesOf returns a member's view as the hub has it now.
func (h *hub) nodesOf(t *testing.T, cluster string) MemberView {
	t.Helper()
	v, known := h.View(cluster)
	if !known {
		t.Fatalf("%s is not admitted", cluster)
	}
	return v
}

// startNodes starts an agent that tells of nodes.
func (h *hub) startNodes(cluster string, source NodeSource) *agent {
	h.t.Helper()
	vault := &memoryVault{}
	config := h.config(cluster, h.token(cluster, time.Hour), vault)
	config.Nodes = source
	return h.runAgent(config, vault)
}
