// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/view"
)

// wire is an agent's talk and a hub's ledger, with what is under way between them.
type wire struct {
	source *nodes
	pods   map[string]string // UID to node
	talk   *nodeTalk
	ledger *ledger
	life   uint64
	next   int

	up   []*pb.AgentMessage
	down []*pb.HubMessage
}

func (w *wire) startAgent() {
	w.life++
	w.source, w.pods = newNodes(2), map[string]string{}
	w.connect()
}

func (w *wire) startHub() {
	w.ledger = newLedger("c1", time.Now, func(map[Change]struct{}) {}, newViewMetrics())
	w.connect()
}

// connect opens a session; what was under way is lost.
func (w *wire) connect() {
	if w.source == nil || w.ledger == nil {
		return
	}
	w.talk = newNodeTalk(&Client{config: ClientConfig{Nodes: w.source}, now: time.Now, incarnation: w.life, metrics: newClientMetrics()})
	w.up, w.down = nil, nil
	w.ledger.end()
	w.ledger.begin(w.life)
	w.down = append(w.down, w.ledger.ack())
}

func (w *wire) say() bool {
	message, _ := w.talk.say()
	if message != nil {
		w.up = append(w.up, message)
	}
	return message != nil
}

func (w *wire) deliver(t tester) bool {
	if len(w.up) == 0 {
		return false
	}
	raw, err := proto.Marshal(w.up[0])
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	w.up = w.up[1:]
	message := &pb.AgentMessage{}
	if err := proto.Unmarshal(raw, message); err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	if why := w.take(message); why != nil {
		t.Fatalf("the hub refuses %v: %s", message, why.reason)
	}
	w.down = append(w.down, w.ledger.ack())
	return true
}

func (w *wire) take(message *pb.AgentMessage) *refusal {
	if why := check(message); why != nil {
		return why
	}
	switch body := message.GetBody().(type) {
	case *pb.AgentMessage_Snapshot:
		return w.ledger.snapshot(body.Snapshot)
	case *pb.AgentMessage_Update:
		return w.ledger.update(body.Update)
	case *pb.AgentMessage_Beat:
		return w.ledger.beat(body.Beat)
	}
	return nil
}

func (w *wire) hear() bool {
	if len(w.down) == 0 {
		return false
	}
	w.talk.heard(w.down[0].GetViewAck())
	w.down = w.down[1:]
	return true
}

// happen changes the member.
func (w *wire) happen(t *rapid.T) {
	names := []string{}
	for n := range w.source.Snapshot().All() {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	w.next++
	one := view.Amounts{{Name: view.CPU, Value: 1}}
	switch what := rapid.IntRange(0, 4).Draw(t, "what"); {
	case what == 0 || len(names) == 0:
		w.source.happen(view.Event{Kind: view.NodeAdded, Node: oneNode(fmt.Sprint("new", w.next))})
	case what == 1:
		node := rapid.SampledFrom(names).Draw(t, "node")
		w.source.happen(view.Event{Kind: view.NodeDeleted, Name: node})
		maps.DeleteFunc(w.pods, func(_, on string) bool { return on == node })
	case what == 2 && len(w.pods) > 0:
		uid := rapid.SampledFrom(slices.Sorted(maps.Keys(w.pods))).Draw(t, "pod")
		w.source.happen(view.Event{Kind: view.PodDeleted, Name: w.pods[uid], Pod: uid, Amounts: one})
		delete(w.pods, uid)
	default:
		uid, node := fmt.Sprint("p", w.next), rapid.SampledFrom(names).Draw(t, "node")
		w.source.happen(view.Event{Kind: view.PodAssigned, Name: node, Pod: uid, Amounts: one})
		w.pods[uid] = node
	}
}

// Whatever happens in the member, and however sending, acknowledging, losing of links, events and ends falls in between:
// in the end the hub has the nodes that the agent has, and counts none of it twice.
func TestTheHubsNodesEndUpAsTheAgents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &wire{}
		w.startAgent()
		w.startHub()
		t.Repeat(map[string]func(*rapid.T){
			"happen":  w.happen,
			"happen2": w.happen,
			"say":     func(*rapid.T) { w.say() },
			"deliver": func(t *rapid.T) { w.deliver(t) },
			"hear":    func(*rapid.T) { w.hear() },
			"beat": func(*rapid.T) {
				w.up = append(w.up, &pb.AgentMessage{Body: &pb.AgentMessage_Beat{Beat: &pb.Beat{SnapshotVersion: w.talk.version(), ApiServerHealthy: true}}})
			},
			"lose the link":      func(*rapid.T) { w.connect() },
			"kill the agent":     func(*rapid.T) { w.startAgent() },
			"kill the hub":       func(*rapid.T) { w.startHub() },
			"forget what's kept": func(*rapid.T) { w.source.forget() },
		})
		for range 3 { // The rest is heard, said and delivered; a snapshot may follow on that.
			for more := true; more; {
				more = w.hear() || w.say() || w.deliver(t)
			}
		}
		v := w.ledger.current.Load()
		if !v.InStep {
			t.Fatalf("not in step: %s", v.Missing)
		}
		same(t, w.source.Snapshot(), v.View)
		if n := w.source.kept(); n != 0 {
			t.Fatalf("the agent keeps %d events that the hub has", n)
		}
	})
}

// FuzzNodesOffTheWire takes what a hostile member might send after a good snapshot. Whatever it is, the hub refuses it or
// holds it within bounds and in order, and its sums are those of its nodes.
func FuzzNodesOffTheWire(f *testing.F) {
	for _, c := range hostileNodes() {
		raw, err := proto.Marshal(c.message)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, raw)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		w := &wire{}
		w.startAgent()
		w.startHub()
		good := snapshotWith(func(*pb.ClusterSnapshot) {})
		if why := w.take(good); why != nil {
			t.Fatal(why)
		}
		version := w.ledger.book.Version()
		for _, raw := range [][]byte{first, second} {
			message := &pb.AgentMessage{}
			if proto.Unmarshal(raw, message) != nil || w.take(message) != nil {
				break // The session ends here.
			}
		}
		v := w.ledger.book.View()
		if v.Version() < version || v.Version() > maxVersion {
			t.Errorf("version went from %d to %d", version, v.Version())
		}
		sum := int64(0)
		for n := range v.All() {
			for _, m := range append(slices.Clone(n.Allocatable), n.Allocated...) {
				if m.Value <= 0 || m.Value > view.MaxAmount {
					t.Errorf("node %q has %+v", n.Name, m)
				}
			}
			if n.Conditions.Usable() {
				sum += n.Allocated.Of(view.CPU)
			}
		}
		if got := v.Allocated().Of(view.CPU); got != sum {
			t.Errorf("the sum says %d, the nodes %d", got, sum)
		}
	})
}
