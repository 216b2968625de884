// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/view"
)

// NodeSource is what a Client tells the hub of the member's nodes. Its numbers grow as long as the process lives, which
// is one incarnation of the agent. It must be safe for concurrent use. What it holds must be within what the hub takes:
// names and texts as Kubernetes allows them, and numbers of things and amounts as package view does.
type NodeSource interface {
	// Changed receives when there may be something new. It is read by one goroutine.
	Changed() <-chan struct{}
	// Snapshot returns the nodes as they are, with the number of the last event that is in them. Nil: they are not known
	// yet.
	Snapshot() *view.View
	// After returns up to limit events that follow the one with this number, in order. False: some of them are not kept
	// any more, so that only a snapshot tells what happened.
	After(version uint64, limit int) ([]TimedEvent, bool)
	// Acknowledged says that the hub has applied everything up to this number: it will not be asked for again.
	Acknowledged(version uint64)
}

// TimedEvent is an event, and when it was seen.
type TimedEvent struct {
	view.Event
	At time.Time
}

// nodeTalk is what one session of the agent says of the nodes. It says nothing until the hub has told where it stands.
type nodeTalk struct {
	client *Client
	source NodeSource // nil: there is nothing to say
	wake   chan struct{}

	mu    sync.Mutex
	told  bool   // the hub has said where it stands
	whole bool   // a snapshot is due, or being sent
	next  uint64 // number of the last event that the hub has or was sent in this session

	parts []*pb.ClusterSnapshot // of a snapshot that is being sent; belongs to the sender
}

func newNodeTalk(c *Client) *nodeTalk {
	return &nodeTalk{client: c, source: c.config.Nodes, wake: make(chan struct{}, 1)}
}

// changed receives when there may be something to say; never without a source.
func (n *nodeTalk) changed() <-chan struct{} {
	if n.source == nil {
		return nil
	}
	return n.source.Changed()
}

// heard takes in where the hub stands.
func (n *nodeTalk) heard(a *pb.ViewAck) {
	if n.source == nil {
		return
	}
	ours := a.GetIncarnation() == n.client.incarnation
	n.mu.Lock()
	if a.GetWantSnapshot() != "" || !n.told && !ours {
		n.whole = true
	}
	if !n.told && ours {
		n.next = a.GetAppliedVersion()
	}
	n.told = true
	n.mu.Unlock()
	if ours {
		n.source.Acknowledged(a.GetAppliedVersion())
	}
	select {
	case n.wake <- struct{}{}:
	default: // It will look anyway.
	}
}

// version is the number that a beat carries: 0 while the hub lacks more than the next event.
func (n *nodeTalk) version() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.told || n.whole {
		return 0
	}
	return n.next
}

// say returns the next message, nil if there is nothing to say now, and whether more follows at once.
func (n *nodeTalk) say() (message *pb.AgentMessage, more bool) {
	if len(n.parts) > 0 {
		return n.part()
	}
	n.mu.Lock()
	told, whole, next := n.told, n.whole, n.next
	n.mu.Unlock()
	if !told {
		return nil, false
	}
	if !whole {
		if events, kept := n.source.After(next, maxDeltas); kept {
			return n.events(events)
		}
	}
	v := n.source.Snapshot()
	if v == nil {
		return nil, false
	}
	n.mu.Lock()
	n.whole = true
	n.mu.Unlock()
	n.parts = partsOf(v)
	n.client.metrics.snapshots.Inc()
	return n.part()
}

// part takes the next part of the snapshot.
func (n *nodeTalk) part() (message *pb.AgentMessage, more bool) {
	part := n.parts[0]
	n.parts = n.parts[1:]
	if part.GetLast() {
		n.mu.Lock()
		n.whole, n.next = false, part.GetSnapshotVersion()
		n.mu.Unlock()
	}
	return &pb.AgentMessage{Body: &pb.AgentMessage_Snapshot{Snapshot: part}}, true
}

// events makes a message of as many of them as fit in one.
func (n *nodeTalk) events(events []TimedEvent) (message *pb.AgentMessage, more bool) {
	if len(events) == 0 {
		return nil, false
	}
	now, size := n.client.now(), 0
	update := &pb.IncrementalUpdate{}
	for i := range events {
		d := eventToWire(&events[i].Event, n.client.incarnation, now.Sub(events[i].At))
		update.NodeDeltas = append(update.NodeDeltas, d)
		update.Version = d.GetEventSequenceId()
		if size += proto.Size(d); size > maxPartBytes {
			break
		}
	}
	n.mu.Lock()
	n.next = update.GetVersion()
	n.mu.Unlock()
	sent := len(update.GetNodeDeltas())
	n.client.metrics.events.Add(float64(sent))
	return &pb.AgentMessage{Body: &pb.AgentMessage_Update{Update: update}}, sent < len(events) || sent == maxDeltas
}

// maxPartBytes is where a message of nodes or events ends: far below what one may be, so that beats get between.
const maxPartBytes = 512 << 10

// partsOf cuts a snapshot into messages.
func partsOf(v *view.View) []*pb.ClusterSnapshot {
	var parts []*pb.ClusterSnapshot
	begin := func() *pb.ClusterSnapshot {
		p := &pb.ClusterSnapshot{SnapshotVersion: v.Version(), Part: uint32(len(parts) + 1)} //nolint:gosec // Bounded by the nodes.
		parts = append(parts, p)
		return p
	}
	last, size := begin(), 0
	for n := range v.All() {
		if len(last.GetNodes()) == maxNodesInPart || size > maxPartBytes {
			last, size = begin(), 0
		}
		node := nodeToWire(&n)
		last.Nodes = append(last.Nodes, node)
		size += proto.Size(node)
	}
	last.Last = true
	return parts
}
