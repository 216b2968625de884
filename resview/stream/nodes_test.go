// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/weir-io/weir/resview/view"
)

func TestTheHubFollowsTheNodesOfItsMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		if v := h.nodesOf(t, "c1"); v.View != nil || v.InStep || v.Missing == "" || v.Confidence(time.Now()) != 0 {
			t.Errorf("before anything was told: %+v", v)
		}
		source := newNodes(3)
		h.startNodes("c1", source)
		wait(time.Second)
		same(t, source.Snapshot(), h.nodesOf(t, "c1").View)
		first := h.nodesOf(t, "c1").View
		changed := oneNode("n1")
		changed.Labels[0].Value = "b"
		for _, e := range []view.Event{
			{Kind: view.PodAssigned, Name: "n1", Pod: "p", Amounts: view.Amounts{{Name: view.CPU, Value: 500}}},
			{Kind: view.NodeUpdated, Name: "n1", Node: changed, Changed: view.FieldLabels | view.FieldTaints | view.FieldConditions},
			{Kind: view.NodeUpdated, Name: "n0", Node: &view.Node{}, Changed: view.FieldAllocatable | view.FieldReserved | view.FieldTaints},
			{Kind: view.NodeAdded, Node: oneNode("n9")},
			{Kind: view.PodDeleted, Name: "n1", Pod: "p", Amounts: view.Amounts{{Name: view.CPU, Value: 500}}},
			{Kind: view.NodeDeleted, Name: "n2", Cordoned: true},
		} {
			source.happen(e)
			wait(100 * time.Millisecond)
			same(t, source.Snapshot(), h.nodesOf(t, "c1").View)
		}
		if n := source.kept(); n != 0 {
			t.Errorf("the agent keeps %d events that the hub has", n)
		}
		if v := h.nodesOf(t, "c1"); !v.InStep || v.Missing != "" || v.Age(time.Now()) > time.Second || v.Confidence(time.Now()) != 100 {
			t.Errorf("in step: %+v", v)
		}
		if all, _ := first.Nodes(); all != 3 || first.Version() != 1 {
			t.Error("a view that was handed out has changed")
		}
		if v := h.nodesOf(t, "c2"); v.View != nil {
			t.Errorf("another member has nodes: %+v", v)
		}
	})
}

func TestAtRestBeatsKeepAViewYoung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		changes := h.SubscribeViews()
		defer changes.Close()
		source := newNodes(1)
		vault := &memoryVault{}
		config := h.config("c1", h.token("c1", time.Hour), vault)
		var unhealthy atomic.Bool
		config.Nodes, config.APIServerHealthy = source, func(context.Context) bool { return !unhealthy.Load() }
		h.runAgent(config, vault)
		wait(10 * time.Minute)
		v := h.nodesOf(t, "c1")
		if age := v.Age(time.Now()); age > 11*time.Second || time.Since(v.ReceivedAt) < 9*time.Minute {
			t.Errorf("age %s, received %s ago", age, time.Since(v.ReceivedAt))
		}
		if got := changes.Take(); len(got) != 1 {
			t.Errorf("changes: %v", got)
		}
		wait(time.Minute)
		if got := changes.Take(); len(got) != 0 {
			t.Errorf("a beat is a change: %v", got)
		}
		unhealthy.Store(true) // What the agent sees may be old from now on.
		wait(5 * time.Minute)
		v = h.nodesOf(t, "c1")
		if age := v.Age(time.Now()); age < 4*time.Minute || v.Confidence(time.Now()) > 1 || !v.InStep {
			t.Errorf("its API server is silent, and its view is %s old with confidence %d", age, v.Confidence(time.Now()))
		}
	})
}

func TestALinkThatIsCutForAMinuteLosesAndRepeatsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		source := newNodes(2)
		h.startNodes("c1", source)
		wait(time.Second)
		source.pods(5)
		h.network.cut() // What is under way is lost, and neither end is told.
		wait(10 * time.Millisecond)
		source.pods(100)
		wait(11 * time.Second)
		before := h.nodesOf(t, "c1")
		if before.InStep && before.Age(time.Now()) < time.Second {
			t.Errorf("nobody noticed: %+v", before)
		}
		h.network.cut()
		wait(48 * time.Second)
		source.pods(100)
		wait(30 * time.Second)
		after := h.nodesOf(t, "c1")
		same(t, source.Snapshot(), after.View)
		if got := after.View.Allocated().Of(view.CPU); got != 205 || !after.InStep {
			t.Errorf("205 pods take %d thousandths: %+v", got, after)
		}
		if n := testutil.ToFloat64(h.metrics.view.snapshots); n != 1 {
			t.Errorf("%g snapshots, the events would have been enough", n)
		}
	})
}

func TestWhileAMemberIsAwayItsViewStandsAndGrowsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		source := newNodes(2)
		a := h.startNodes("c1", source)
		wait(time.Second)
		a.halt()
		wait(time.Minute)
		v := h.nodesOf(t, "c1")
		same(t, source.Snapshot(), v.View)
		now := time.Now()
		if v.InStep || v.Missing != "the agent is not connected" || v.Age(now) < 50*time.Second || v.Confidence(now) > 60 {
			t.Errorf("a minute later: %+v, age %s, confidence %d", v, v.Age(now), v.Confidence(now))
		}
	})
}

// An agent that was killed knows nothing of what it told: it comes as another incarnation, with numbers of its own.
func TestAnAgentThatWasKilledTellsASnapshotAndNothingCountsTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		source := newNodes(2)
		a := h.startNodes("c1", source)
		wait(time.Second)
		source.pods(50)
		h.network.cut() // No goodbye.
		a.halt()
		source.pods(5)
		wait(20 * time.Second)
		again := newNodes(2)
		again.pods(3) // The others went while nobody watched.
		h.startNodes("c1", again)
		wait(time.Second)
		v := h.nodesOf(t, "c1")
		same(t, again.Snapshot(), v.View)
		if got := v.View.Allocated().Of(view.CPU); got != 3 || v.View.Version() != 4 {
			t.Errorf("three pods take %d at version %d", got, v.View.Version())
		}
		again.pods(1)
		wait(time.Second)
		same(t, again.Snapshot(), h.nodesOf(t, "c1").View)
	})
}

func TestAHubThatWasKilledGetsASnapshotOfEachMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		source := newNodes(2)
		h.startNodes("c1", source)
		wait(time.Second)
		source.pods(5)
		wait(time.Second)
		h.network.cut()
		h.halt()
		source.pods(5)
		h.start()
		wait(time.Minute)
		v := h.nodesOf(t, "c1")
		same(t, source.Snapshot(), v.View)
		if !v.InStep || v.View.Allocated().Of(view.CPU) != 10 {
			t.Errorf("got %+v", v)
		}
	})
}

func TestEventsThatAreNotKeptAreMadeUpForByASnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		source := newNodes(2)
		a := h.startNodes("c1", source)
		wait(time.Second)
		h.network.unplug()
		h.network.cut()
		wait(20 * time.Second)
		source.pods(10)
		source.forget()
		source.pods(1)
		h.halt()
		h.start()
		wait(time.Minute)
		same(t, source.Snapshot(), h.nodesOf(t, "c1").View)
		a.halt()
	})
}

func TestALargeSnapshotComesInPartsAndBeatsBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		if err := h.Admit("c1", Settings{BeatInterval: time.Second}); err != nil {
			t.Fatal(err)
		}
		source := newNodes(4500)
		for i := range 1500 {
			source.happen(view.Event{Kind: view.PodAssigned, Name: fmt.Sprint("n", i), Pod: fmt.Sprint(i), Amounts: view.Amounts{{Name: view.CPU, Value: 1}}})
		}
		h.startNodes("c1", source)
		wait(2 * time.Second)
		same(t, source.Snapshot(), h.nodesOf(t, "c1").View)
		if parts := partsOf(source.Snapshot()); len(parts) < 5 || !parts[len(parts)-1].GetLast() || parts[0].GetLast() {
			t.Errorf("%d parts", len(parts))
		}
		source.pods(3 * maxDeltas)
		wait(time.Second)
		same(t, source.Snapshot(), h.nodesOf(t, "c1").View)
	})
}

func TestNodesThatBecomeKnownLateAreToldThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		source := &nodes{wake: make(chan struct{}, 1)}
		h.startNodes("c1", source)
		wait(time.Minute)
		if v := h.nodesOf(t, "c1"); v.View != nil || v.InStep {
			t.Errorf("nothing is known there, and the hub has %+v", v)
		}
		source.know(3)
		wait(time.Second)
		same(t, source.Snapshot(), h.nodesOf(t, "c1").View)
	})
}

// A member whose link is not broken but slow is asked before it counts as silent.
func TestABeatThatIsLateIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		if err := h.Admit("c1", Settings{BeatInterval: 5 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		h.startAgent("c1")
		wait(time.Second)
		if err := h.Admit("c1", Settings{BeatInterval: 10 * time.Second}); err != nil { // The session goes on at the old pace.
			t.Fatal(err)
		}
		for range 12 {
			wait(10 * time.Second)
			if silence := time.Since(h.Snapshot("c1").LastBeat); silence > 16*time.Second {
				t.Errorf("no beat for %s", silence)
			}
		}
	})
}
