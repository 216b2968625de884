// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/weir-io/weir/resview/stream"
	"github.com/weir-io/weir/resview/view"
)

// keeper turns what is seen of nodes and pods into events. It is not safe for concurrent use.
//
// Before begin it only notes what is there. From then on each call tells what it changes:
//
//	node: unknown ──seen──▶ told ──cordoned or gone──▶ not told ──takes pods again──▶ told
//	pod:  unknown ──has a node──▶ counted ──done or gone──▶ unknown
type keeper struct {
	now func() time.Time
	log *slog.Logger

	nodes map[string]*nodeState
	pods  map[string]podState // by UID
	book  *view.Book          // nil before begin; its nodes are those that are told
	kept  eventLog
	told  func(view.Kind) // counts events
}

// nodeState is a node of which something was seen: itself, or a pod on it.
type nodeState struct {
	node *view.Node // nil: not seen, cordoned, or out of bounds
	pods map[string]struct{}
}

type podState struct {
	node    string
	amounts view.Amounts
	counted bool // in the book
}

func newKeeper(now func() time.Time, log *slog.Logger, told func(view.Kind)) *keeper {
	return &keeper{now: now, log: log, told: told, nodes: map[string]*nodeState{}, pods: map[string]podState{}}
}

// begin makes the first view of what was seen so far. Its number is 1.
func (k *keeper) begin() {
	k.book = view.NewBook(0)
	for _, name := range slices.Sorted(maps.Keys(k.nodes)) {
		s := k.nodes[name]
		if s.node == nil {
			continue
		}
		if err := k.book.Add(k.whole(s)); err != nil {
			k.leaveOut(s, err)
			continue
		}
		k.count(s, true)
	}
	k.book.Seal(1)
	k.kept.last = 1
}

// whole is the node with what its pods take.
func (k *keeper) whole(s *nodeState) *view.Node {
	sum := map[string]int64{}
	for uid := range s.pods {
		for _, m := range k.pods[uid].amounts {
			sum[m.Name] += m.Value
		}
	}
	out := *s.node
	out.Allocated = amounts(sum)
	return &out
}

func (k *keeper) leaveOut(s *nodeState, err error) {
	k.log.Error("node left out of the view", "node", s.node.Name, "error", err)
	s.node = nil
}

// count notes for all pods of a node whether they are in the book.
func (k *keeper) count(s *nodeState, counted bool) {
	for uid := range s.pods {
		p := k.pods[uid]
		p.counted = counted
		k.pods[uid] = p
	}
}

// tell applies an event and keeps it. What the book refuses is not told.
func (k *keeper) tell(e view.Event) error {
	if k.book == nil {
		return errors.New("nothing is told yet")
	}
	e.Sequence = k.book.Version() + 1
	if _, err := k.book.Take(&e); err != nil {
		return err
	}
	k.kept.add(stream.TimedEvent{Event: e, At: k.now()})
	k.told(e.Kind)
	return nil
}

func (k *keeper) state(node string) *nodeState {
	s := k.nodes[node]
	if s == nil {
		s = &nodeState{pods: map[string]struct{}{}}
		k.nodes[node] = s
	}
	return s
}

func (k *keeper) forgetIfEmpty(node string) {
	if s := k.nodes[node]; s != nil && s.node == nil && len(s.pods) == 0 {
		delete(k.nodes, node)
	}
}

// setNode takes in a node as it is now. It must not be changed afterwards.
func (k *keeper) setNode(n *view.Node, cordoned bool) {
	s := k.state(n.Name)
	switch {
	case cordoned:
		k.dropNode(n.Name, true)
	case s.node == nil:
		k.addNode(s, n)
	default:
		k.updateNode(s, n)
	}
}

func (k *keeper) addNode(s *nodeState, n *view.Node) {
	s.node = n
	if k.book == nil {
		return
	}
	if err := k.tell(view.Event{Kind: view.NodeAdded, Name: n.Name, Node: k.whole(s)}); err != nil {
		k.leaveOut(s, err)
		return
	}
	k.count(s, true)
}

func (k *keeper) updateNode(s *nodeState, n *view.Node) {
	changed := differing(s.node, n)
	s.node = n
	if k.book == nil || changed == 0 {
		return
	}
	if err := k.tell(view.Event{Kind: view.NodeUpdated, Name: n.Name, Node: n, Changed: changed}); err != nil {
		k.log.Error("node as it is now is out of bounds", "node", n.Name, "error", err)
		k.dropNode(n.Name, false)
	}
}

// dropNode takes a node that is gone, or takes no more pods.
func (k *keeper) dropNode(name string, cordoned bool) {
	s := k.nodes[name]
	if s == nil {
		return
	}
	if s.node != nil && k.book != nil {
		// It is in the book, or it would have been left out: this cannot fail.
		_ = k.tell(view.Event{Kind: view.NodeDeleted, Name: name, Cordoned: cordoned})
		k.count(s, false)
	}
	s.node = nil
	k.forgetIfEmpty(name)
}

// setPod takes in a pod that takes amounts on a node. A pod that takes something else than before gives that back first.
func (k *keeper) setPod(uid, node string, amounts view.Amounts) {
	if was, known := k.pods[uid]; known {
		if was.node == node && slices.Equal(was.amounts, amounts) {
			return
		}
		k.dropPod(uid)
	}
	s := k.state(node)
	p := podState{node: node, amounts: amounts}
	if s.node != nil && k.book != nil {
		err := k.tell(view.Event{Kind: view.PodAssigned, Name: node, Pod: uid, Amounts: amounts})
		if p.counted = err == nil; !p.counted {
			k.log.Error("pod left out of the view", "node", node, "podUid", uid, "error", err)
		}
	}
	s.pods[uid], k.pods[uid] = struct{}{}, p
}

// dropPod takes a pod that is done or gone.
func (k *keeper) dropPod(uid string) {
	p, known := k.pods[uid]
	if !known {
		return
	}
	if p.counted {
		if err := k.tell(view.Event{Kind: view.PodDeleted, Name: p.node, Pod: uid, Amounts: p.amounts}); err != nil {
			k.log.Error("pod gone, and not told", "node", p.node, "podUid", uid, "error", err)
		}
	}
	delete(k.pods, uid)
	delete(k.nodes[p.node].pods, uid)
	k.forgetIfEmpty(p.node)
}

// differing names the fields in which two nodes differ.
func differing(a, b *view.Node) view.Fields {
	var out view.Fields
	for field, same := range map[view.Fields]bool{
		view.FieldAllocatable: slices.Equal(a.Allocatable, b.Allocatable),
		view.FieldReserved:    slices.Equal(a.Reserved, b.Reserved),
		view.FieldLabels:      slices.Equal(a.Labels, b.Labels),
		view.FieldTaints:      slices.Equal(a.Taints, b.Taints),
		view.FieldConditions:  a.Conditions == b.Conditions,
	} {
		if !same {
			out |= field
		}
	}
	return out
}
