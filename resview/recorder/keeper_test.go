// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-io/weir/resview/stream"
	"github.com/weir-io/weir/resview/view"
)

func newTestKeeper() *keeper {
	return newKeeper(func() time.Time { return time.Unix(1, 0) }, slog.New(slog.DiscardHandler), func(view.Kind) {})
}

// world is what is in the member, and how one may look at it.
type world struct {
	nodes    map[string]*view.Node
	cordoned map[string]bool
	pods     map[string]podState
}

// view is what a hub should see: nodes that take pods, with what their pods take.
func (w *world) view() []view.Node {
	var out []view.Node
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		if w.cordoned[name] {
			continue
		}
		n, sum := *w.nodes[name], map[string]int64{}
		for _, p := range w.pods {
			if p.node != name {
				continue
			}
			for _, m := range p.amounts {
				sum[m.Name] += m.Value
			}
		}
		n.Allocated = view.MakeAmounts(sum)
		out = append(out, n)
	}
	return out
}

func drawRequests(t *rapid.T) view.Amounts {
	return view.MakeAmounts(map[string]int64{
		view.CPU: rapid.Int64Range(0, 2000).Draw(t, "cpu"), view.Memory: rapid.Int64Range(0, 1<<30).Draw(t, "memory"), view.Pods: 1,
	})
}

// happen changes the world, and lets the keeper see it.
func (w *world) happen(t *rapid.T, k *keeper) {
	node := fmt.Sprint("n", rapid.IntRange(0, 4).Draw(t, "node"))
	uid := fmt.Sprint("p", rapid.IntRange(0, 12).Draw(t, "pod"))
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 0, 1:
		n := &view.Node{
			Name: node, Allocatable: view.MakeAmounts(map[string]int64{view.CPU: rapid.Int64Range(1, 3).Draw(t, "size")}),
			Labels:     []view.Label{{Key: "pool", Value: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "pool")}},
			Conditions: view.Conditions(0).With(view.Ready, view.Status(rapid.IntRange(1, 2).Draw(t, "ready"))),
		}
		w.nodes[node], w.cordoned[node] = n, rapid.Bool().Draw(t, "cordoned")
		k.setNode(n, w.cordoned[node])
	case 2:
		delete(w.nodes, node)
		delete(w.cordoned, node)
		k.dropNode(node, false)
	case 3, 4:
		p := podState{node: node, amounts: drawRequests(t)}
		w.pods[uid] = p
		k.setPod(uid, p.node, p.amounts)
	default:
		delete(w.pods, uid)
		k.dropPod(uid)
	}
}

// TestAHubThatFollowsSeesWhatIsThere: wherever it begins to, and whatever happens, in whichever order nodes and pods are
// seen.
func TestAHubThatFollowsSeesWhatIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{nodes: map[string]*view.Node{}, cordoned: map[string]bool{}, pods: map[string]podState{}}
		k := newTestKeeper()
		for range rapid.IntRange(0, 20).Draw(t, "before") {
			w.happen(t, k)
		}
		k.begin()
		var hubs []*follower
		for range rapid.IntRange(0, 40).Draw(t, "after") {
			if rapid.IntRange(0, 9).Draw(t, "look") == 0 {
				hubs = append(hubs, follow(t, k.book.View()))
			}
			w.happen(t, k)
		}
		hubs = append(hubs, follow(t, k.book.View()))
		for _, h := range hubs {
			h.catchUp(t, k.kept.after)
			differ(t, "a hub that followed", w.view(), contents(h.book.View()))
		}
		for uid := range w.pods {
			k.dropPod(uid)
		}
		for name := range w.nodes {
			k.dropNode(name, false)
		}
		if len(k.nodes)+len(k.pods)+k.book.Nodes() != 0 {
			t.Fatalf("all is gone, and the keeper holds %v and %v", k.nodes, k.pods)
		}
	})
}

func kinds(events []stream.TimedEvent) []view.Kind {
	var out []view.Kind
	for _, e := range events {
		out = append(out, e.Kind)
	}
	return out
}

func TestOnlyWhatChangedIsTold(t *testing.T) {
	node := func() *view.Node {
		return &view.Node{Name: "a", Allocatable: view.Amounts{{Name: view.CPU, Value: 4000}}, Labels: []view.Label{{Key: "pool", Value: "a"}}}
	}
	k := newTestKeeper()
	k.setNode(node(), false)
	k.setPod("p", "a", view.Amounts{{Name: view.CPU, Value: 1}})
	k.begin()
	k.setNode(node(), false)                                     // a beat of the kubelet
	k.setPod("p", "a", view.Amounts{{Name: view.CPU, Value: 1}}) // its status changed
	k.setPod("q", "elsewhere", view.Amounts{{Name: view.CPU, Value: 1}})
	if events, _ := k.kept.after(1, 10); len(events) != 0 {
		t.Fatalf("nothing changed, and told were %v", kinds(events))
	}
	changed := node()
	changed.Taints = []view.Taint{{Key: "gpu", Effect: "NoSchedule"}}
	k.setNode(changed, false)
	k.setPod("p", "a", view.Amounts{{Name: view.CPU, Value: 2}})
	k.setNode(changed, true)
	k.dropPod("p")
	k.setNode(changed, false)
	events, _ := k.kept.after(1, 10)
	differ(t, "kinds", []view.Kind{view.NodeUpdated, view.PodDeleted, view.PodAssigned, view.NodeDeleted, view.NodeAdded}, kinds(events))
	if e := events[0]; e.Changed != view.FieldTaints {
		t.Errorf("the update names fields %b", e.Changed)
	}
	if e := events[1]; e.Pod != "p" || e.Amounts.Of(view.CPU) != 1 {
		t.Errorf("given back: %+v", e)
	}
	if !events[3].Cordoned {
		t.Error("a cordoned node is told as gone")
	}
}

func TestANodeOutOfBoundsIsLeftOutAndTheOthersStand(t *testing.T) {
	k := newTestKeeper()
	k.setNode(&view.Node{Name: "a"}, false)
	odd := &view.Node{Name: "b", Allocatable: view.Amounts{{Name: "huge", Value: view.MaxAmount + 1}}}
	k.setNode(odd, false)
	k.begin()
	k.setPod("p", "b", view.Amounts{{Name: view.CPU, Value: 1}})
	k.setNode(odd, false)
	hub := follow(t, k.book.View())
	hub.catchUp(t, k.kept.after)
	differ(t, "nodes", []view.Node{{Name: "a"}}, contents(hub.book.View()))
	k.setNode(&view.Node{Name: "b"}, false) // It was mended.
	hub.catchUp(t, k.kept.after)
	differ(t, "nodes", []view.Node{{Name: "a"}, {Name: "b", Allocated: view.Amounts{{Name: view.CPU, Value: 1}}}}, contents(hub.book.View()))
	k.setNode(odd, false) // It is odd again.
	hub.catchUp(t, k.kept.after)
	differ(t, "nodes", []view.Node{{Name: "a"}}, contents(hub.book.View()))
}

func TestEventsAreKeptUntilTheyAreAcknowledgedAndNoLonger(t *testing.T) {
	l := eventLog{last: 1}
	for i := range uint64(10) {
		l.add(stream.TimedEvent{Event: view.Event{Sequence: i + 2}})
	}
	if got, kept := l.after(1, 100); !kept || len(got) != 10 || got[0].Sequence != 2 {
		t.Fatalf("after the snapshot: %d, %t", len(got), kept)
	}
	if got := l.cut(5); len(got) != 4 {
		t.Errorf("%d were forgotten, want 2 to 5", len(got))
	}
	if got := l.cut(5); len(got) != 0 {
		t.Errorf("%d were forgotten twice", len(got))
	}
	for version, want := range map[uint64]int{4: -1, 5: 6, 10: 1, 11: 0, 12: -1} {
		got, kept := l.after(version, 100)
		if kept != (want >= 0) || kept && len(got) != want {
			t.Errorf("after %d: %d, %t, want %d", version, len(got), kept, want)
		}
	}
	l.cut(11)
	for i := range uint64(maxKept + 1) {
		l.add(stream.TimedEvent{Event: view.Event{Sequence: i + 12}})
	}
	if _, kept := l.after(11, 1); kept || len(l.events) > maxKept {
		t.Errorf("%d events are kept", len(l.events))
	}
	if got, kept := l.after(l.last-1, 5); !kept || len(got) != 1 {
		t.Errorf("the newest: %d, %t", len(got), kept)
	}
}
