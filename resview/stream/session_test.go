// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-io/weir/resview/pb"
)

func TestAgentJoinsAndItsFactsReachTheSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		a := h.startAgent("c1")
		a.set(service("cart", "1"), service("pay", "7"))
		if err := a.SetMember(&pb.MemberFacts{IstioVersion: "1.31.0"}); err != nil {
			t.Fatal(err)
		}
		a.InventoryListed()
		wait(time.Second)

		got := h.Snapshot("c1")
		if !got.Connected || !got.InventoryComplete || !got.APIServerHealthy || got.Reason != "" {
			t.Errorf("snapshot is %+v, want connected, complete and healthy", got)
		}
		if diff := cmp.Diff(map[string]string{"cart": "1", "pay": "7"}, versions(got)); diff != "" {
			t.Errorf("services (-want +got):\n%s", diff)
		}
		if v := got.Member.Value.GetIstioVersion(); v != "1.31.0" {
			t.Errorf("istio version %q, want 1.31.0", v)
		}
		if age := time.Since(got.LastBeat); age > time.Second {
			t.Errorf("last beat is %s old, want a fresh one", age)
		}
		if got := h.Snapshot("c2"); got.Connected || !got.LastBeat.IsZero() || got.Member.Value != nil {
			t.Errorf("c2 has facts that c1 sent: %+v", got)
		}
		if s := a.Status(); !s.Connected || s.HubUID != "hub-1" || s.Reason != "" {
			t.Errorf("agent's status is %+v, want connected to hub-1", s)
		}
	})
}

func TestBeatsComeInTheIntervalThatTheHubAsksFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		if err := h.Admit("c1", Settings{BeatInterval: 2 * time.Second}); err != nil {
			t.Fatal(err)
		}
		h.startAgent("c1")
		wait(time.Minute)
		for range 20 {
			wait(time.Second)
			if age := time.Since(h.Snapshot("c1").LastBeat); age > 2*time.Second {
				t.Fatalf("last beat is %s old, want at most 2 s", age)
			}
		}
	})
}

func TestUnhealthyAPIServerIsToldInTheBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		vault := &memoryVault{}
		config := h.config("c1", h.token("c1", time.Hour), vault)
		config.APIServerHealthy = hangs
		h.runAgent(config, vault)
		wait(30 * time.Second)
		got := h.Snapshot("c1")
		if !got.Connected || got.LastBeat.IsZero() || got.APIServerHealthy {
			t.Errorf("snapshot is %+v, want beats that say the API server is not healthy", got)
		}
	})
}

func TestOnlyWhatChangedIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		a := h.startAgent("c1")
		a.set(service("cart", "1"), service("pay", "1"))
		a.InventoryListed()
		wait(time.Second)
		before := h.Snapshot("c1")
		a.set(service("cart", "1"), service("pay", "2"))
		wait(time.Second)
		after := h.Snapshot("c1")
		if !after.Services[key("cart")].ReceivedAt.Equal(before.Services[key("cart")].ReceivedAt) {
			t.Error("cart did not change and was sent again")
		}
		if got := after.Services[key("pay")].Value.GetResourceVersion(); got != "2" {
			t.Errorf("pay has version %s, want 2", got)
		}
	})
}

func TestGoneServiceLeavesTheSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		a := h.startAgent("c1")
		a.set(service("cart", "1"), service("pay", "1"))
		a.InventoryListed()
		wait(time.Second)
		a.RemoveService(key("pay"))
		wait(time.Second)
		if diff := cmp.Diff(map[string]string{"cart": "1"}, versions(h.Snapshot("c1"))); diff != "" {
			t.Errorf("services (-want +got):\n%s", diff)
		}
	})
}

func TestReconnectSendsEverythingAndForgetsOnlyAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		a := h.startAgent("c1")
		a.set(service("cart", "1"), service("pay", "1"))
		a.InventoryListed()
		wait(time.Second)

		h.network.cut()
		wait(15 * time.Second) // The cut is noticed and the agent is back.
		a.set(service("cart", "2"))
		wait(time.Second)
		if got := h.Snapshot("c1"); !got.Connected || !got.InventoryComplete {
			t.Fatalf("after the cut the snapshot is %+v, want connected and complete", got)
		}

		a.halt()
		wait(time.Second)
		gone := h.Snapshot("c1")
		if gone.Connected || !gone.InventoryComplete || len(gone.Services) != 2 {
			t.Fatalf("after the agent left the snapshot is %+v, want its facts kept and not connected", gone)
		}

		// A new agent has not listed yet: what it does not name is not gone yet.
		vault := a.vault
		b := h.runAgent(h.config("c1", "", vault), vault)
		b.set(service("cart", "3"))
		wait(5 * time.Second)
		half := h.Snapshot("c1")
		if diff := cmp.Diff(map[string]string{"cart": "3", "pay": "1"}, versions(half)); diff != "" || half.InventoryComplete {
			t.Fatalf("before the end of the list: complete %t, services (-want +got):\n%s", half.InventoryComplete, diff)
		}
		b.InventoryListed()
		wait(time.Second)
		whole := h.Snapshot("c1")
		if diff := cmp.Diff(map[string]string{"cart": "3"}, versions(whole)); diff != "" || !whole.InventoryComplete {
			t.Fatalf("after the end of the list: complete %t, services (-want +got):\n%s", whole.InventoryComplete, diff)
		}
	})
}

func TestCutLinkIsNoticedWithinTenSecondsAtBothEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		a := h.startAgent("c1")
		wait(31 * time.Second)
		h.network.cut()
		h.network.unplug()
		cut := time.Now()
		wait(10 * time.Second)
		if s := h.Snapshot("c1"); s.Connected || s.Since.Sub(cut) > 10*time.Second {
			t.Errorf("hub's view %s after the cut: connected %t, since %s", time.Since(cut), s.Connected, s.Since.Sub(cut))
		}
		if s := a.Status(); s.Connected || s.Reason == "" {
			t.Errorf("agent's status %s after the cut is %+v, want a reason", time.Since(cut), s)
		}
	})
}

func TestHubThatWasKilledAndRestartedKnowsEverythingAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		a := h.startAgent("c1")
		a.set(service("cart", "1"), service("pay", "1"))
		a.InventoryListed()
		wait(time.Second)
		h.halt()
		wait(time.Minute)
		if s := a.Status(); s.Connected {
			t.Fatalf("agent's status without a hub is %+v", s)
		}
		a.set(service("cart", "2"))
		a.RemoveService(key("pay"))
		h.start()
		wait(maxBackoff + time.Second)
		got := h.Snapshot("c1")
		if diff := cmp.Diff(map[string]string{"cart": "2"}, versions(got)); diff != "" || !got.InventoryComplete {
			t.Errorf("after the restart: complete %t, services (-want +got):\n%s", got.InventoryComplete, diff)
		}
	})
}

func TestStoppingHubSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		r := h.raw("c1", hello(1))
		wait(time.Second)
		h.stop()
		refusal, err := r.refusal()
		if err != nil {
			t.Fatal(err)
		}
		if refusal.GetCode() != codeStopping {
			t.Errorf("refused with %v, want %s", refusal, codeStopping)
		}
	})
}

func TestSlowLinkCostsOnlyFreshness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		a := h.startAgent("c1")
		wait(time.Second)
		h.network.stall()
		for i := range 5000 {
			a.set(service("cart", time.Duration(i).String()))
		}
		if n := a.outbox.waiting(); n > 1 {
			t.Errorf("%d messages wait for one service, want its newest value only", n)
		}
		wait(3 * time.Second)
		h.network.flow()
		wait(time.Second)
		if diff := cmp.Diff(map[string]string{"cart": "4.999µs"}, versions(h.Snapshot("c1"))); diff != "" {
			t.Errorf("services (-want +got):\n%s", diff)
		}
	})
}

func TestNewerAgentReplacesTheOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		older := h.raw("c1", hello(10))
		wait(time.Second)
		newer := h.raw("c1", hello(11))
		refusal, err := older.refusal()
		if err != nil {
			t.Fatal(err)
		}
		if refusal.GetCode() != codeReplaced {
			t.Errorf("the older agent was told %v, want %s", refusal, codeReplaced)
		}
		wait(time.Second)
		if s := h.Snapshot("c1"); !s.Connected || s.Hello.GetIncarnation() != 11 {
			t.Errorf("snapshot is %+v, want the newer agent's", s)
		}
		// The older comes back while the newer is there.
		late := h.raw("c1", hello(10))
		if refusal, err = late.refusal(); err != nil || refusal.GetCode() != codeSuperseded {
			t.Errorf("the older agent came back and was told %v (%v), want %s", refusal, err, codeSuperseded)
		}
		if err := newer.stream.Send(&pb.AgentMessage{Sequence: 2, Body: &pb.AgentMessage_Beat{Beat: &pb.Beat{}}}); err != nil {
			t.Errorf("the newer agent lost its session: %v", err)
		}
		wait(time.Second)
		if s := h.Snapshot("c1"); !s.Connected || s.LastBeat.IsZero() {
			t.Errorf("snapshot is %+v, want the newer agent's beat", s)
		}
	})
}

func TestReplacedAgentDoesNotFightForItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		a := h.startAgent("c1")
		wait(time.Second)
		b := h.startAgent("c1")
		wait(10 * time.Minute)
		if s := b.Status(); !s.Connected || time.Since(s.Since) < 9*time.Minute {
			t.Errorf("the newer agent's status is %+v, want one long session", s)
		}
		if s := a.Status(); s.Connected || s.Reason == "" {
			t.Errorf("the older agent's status is %+v, want the reason why it is away", s)
		}
		b.halt()
		wait(awayBackoff + time.Second)
		if s := a.Status(); !s.Connected {
			t.Errorf("the newer agent left and the older one's status is %+v, want connected", s)
		}
	})
}

func TestTargetsReachTheAgentAndStayOverReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		a := h.startAgent("c1")
		wait(time.Second)
		asks := func(generation int64) []*pb.Target {
			return []*pb.Target{{Ref: &pb.ServiceRef{Namespace: "shop", Name: "cart"}, Generation: generation}}
		}
		for generation := range int64(3) {
			if err := h.SetTargets("c1", asks(generation)); err != nil {
				t.Fatal(err)
			}
		}
		wait(time.Second)
		if got := a.lastTargets(); len(got) != 1 || got[0].GetGeneration() != 2 {
			t.Errorf("targets are %v, want generation 2", got)
		}
		b := h.runAgent(h.config("c1", "", a.vault), a.vault)
		wait(time.Second)
		if got := b.lastTargets(); len(got) != 1 || got[0].GetGeneration() != 2 {
			t.Errorf("targets of the next session are %v, want generation 2", got)
		}
		if err := h.SetTargets("c9", asks(1)); err == nil {
			t.Error("targets of an unknown cluster were taken")
		}
	})
}

func TestForgottenMemberIsTurnedAwayUntilItIsAdmittedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		a := h.startAgent("c1")
		wait(time.Second)
		h.Forget("c1")
		wait(time.Second)
		if s := h.Snapshot("c1"); s != nil {
			t.Errorf("a forgotten member still has a snapshot: %+v", s)
		}
		wait(time.Minute)
		if s := a.Status(); s.Connected || s.Reason != notRegistered("c1") {
			t.Errorf("agent's status is %+v, want to be told how to register", s)
		}
		if err := h.Admit("c1", Settings{}); err != nil {
			t.Fatal(err)
		}
		wait(maxBackoff)
		if s := h.Snapshot("c1"); !s.Connected {
			t.Errorf("snapshot after the member was admitted again is %+v, want connected", s)
		}
	})
}
