// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weir-io/weir/resview/pb"
)

// target asks for a fence of the addresses.
func target(active bool, fenced ...string) *pb.Target {
	t := &pb.Target{Ref: &pb.ServiceRef{Namespace: "shop", Name: "cart"}, FenceGeneration: 5, Active: active}
	for _, ip := range fenced {
		t.Fenced = append(t.Fenced, &pb.FencedAddress{Ip: ip})
	}
	return t
}

func (h *hub) ask(targets ...*pb.Target) {
	h.t.Helper()
	if err := h.SetTargets("c1", targets); err != nil {
		h.t.Fatal(err)
	}
	wait(time.Second)
}

// answer says that the fence is proven, to the question that was put last, or to the one given.
func (a *agent) answer(question uint64, age time.Duration) {
	a.t.Helper()
	if err := a.SetProof(&pb.ProofFacts{
		Ref: &pb.ServiceRef{Namespace: "shop", Name: "cart"}, Question: question,
		Fence: &pb.Verdict{Generation: 5, Level: "Proven", AgeMs: age.Milliseconds()},
	}); err != nil {
		a.t.Fatal(err)
	}
	wait(time.Second)
}

func (a *agent) question() uint64 {
	a.t.Helper()
	targets := a.lastTargets()
	if len(targets) != 1 || targets[0].GetQuestion() == 0 {
		a.t.Fatalf("targets are %v, want one with a question", targets)
	}
	return targets[0].GetQuestion()
}

func (h *hub) proofs() int { return len(h.Snapshot("c1").Proofs) }

func TestProofCountsForTheQuestionThatIsAskedNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		a := h.startAgent("c1")
		wait(time.Second)
		a.answer(1, 0)
		if n := h.proofs(); n != 0 {
			t.Fatalf("%d proofs of what nobody asked for", n)
		}
		h.ask(target(true))
		first := a.question()
		a.answer(first, 0)
		if _, ok := h.Snapshot("c1").Answer(target(false)); !ok {
			t.Fatal("no answer to the target as it was asked; being active must make no difference")
		}
		if _, ok := h.Snapshot("c1").Answer(target(true, "10.0.0.1")); ok {
			t.Fatal("what was proven of no address passes for a proof of one, under the same generation")
		}

		h.ask(target(false))
		if n := h.proofs(); n != 1 || a.question() != first {
			t.Errorf("%d proofs, question %d; a target that only came to rest must keep both", n, a.question())
		}
		h.ask(target(true, "10.0.0.1"))
		second := a.question()
		if n := h.proofs(); n != 0 || second == first {
			t.Fatalf("%d proofs, question %d then %d; the list of addresses changed", n, first, second)
		}
		a.answer(first, time.Millisecond)
		if n := h.proofs(); n != 0 {
			t.Fatal("an answer to the older question was taken")
		}
		a.answer(second, 0)
		if _, ok := h.Snapshot("c1").Answer(target(true, "10.0.0.1")); !ok {
			t.Error("the answer to the present question was not taken")
		}
		h.ask()
		if n := h.proofs(); n != 0 {
			t.Errorf("%d proofs after the target went", n)
		}
		if _, ok := h.Snapshot("c1").Answer(target(true, "10.0.0.1")); ok {
			t.Error("there is an answer to what is asked no more")
		}
	})
}

func TestProofDoesNotOutliveItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		a := h.startAgent("c1")
		wait(time.Second)
		h.ask(target(true))
		a.answer(a.question(), 0)
		a.halt()
		wait(time.Second)
		if n := h.proofs(); n != 1 {
			t.Fatalf("%d proofs after the agent left, want the one there was, to grow old", n)
		}
		h.raw("c1", hello(1<<63))
		wait(time.Second)
		if n := h.proofs(); n != 0 {
			t.Errorf("%d proofs of an earlier session in a new one", n)
		}
	})
}

func TestRestartedHubTakesNoAnswerToItsForerunnersQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		a := h.startAgent("c1")
		wait(time.Second)
		h.ask(target(true))
		a.answer(a.question(), 0)
		h.halt()
		h.start()
		h.ask(target(true, "10.0.0.1"))
		wait(maxBackoff)
		if s := h.Snapshot("c1"); !s.Connected || len(s.Proofs) != 0 {
			t.Errorf("after the restart: connected %t, %d proofs; want no proof of the new question", s.Connected, len(s.Proofs))
		}
	})
}

func TestEvidenceThatIsSentAgainHasGrownOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		a := h.startAgent("c1")
		s := service("cart", "1")
		s.Pods = []*pb.Pod{{Name: "cart-1", Load: &pb.Load{QuietScrapes: 2, AgeMs: 100}}, {Name: "cart-2"}}
		a.set(s)
		gateways := []*pb.GatewayFacts{{Name: "istio-system/gw", Load: &pb.Load{AgeMs: 200}}}
		if err := a.SetMember(&pb.MemberFacts{Gateways: gateways}); err != nil {
			t.Fatal(err)
		}
		wait(time.Second)
		h.ask(target(true))
		a.answer(a.question(), 50*time.Millisecond)
		h.network.cut()
		wait(30 * time.Second)
		got := h.Snapshot("c1")
		ages := map[string]int64{
			"proof":   got.Proofs[key("cart")].Value.GetFence().GetAgeMs(),
			"pod":     got.Services[key("cart")].Value.GetPods()[0].GetLoad().GetAgeMs(),
			"gateway": got.Member.Value.GetGateways()[0].GetLoad().GetAgeMs(),
		}
		sent := got.Proofs[key("cart")].ReceivedAt
		for what, age := range ages {
			if since := time.Since(sent); time.Duration(age)*time.Millisecond < 30*time.Second-since {
				t.Errorf("%s came over a reconnect with an age of %d ms", what, age)
			}
		}
		if got.Services[key("cart")].Value.GetPods()[1].GetLoad() != nil {
			t.Error("a load came from nowhere")
		}
	})
}

func TestAgeingLeavesTheMessageAsItWas(t *testing.T) {
	message := &pb.AgentMessage{Body: &pb.AgentMessage_Proof{Proof: &pb.ProofFacts{Fence: &pb.Verdict{AgeMs: 5}}}}
	before := proto.CloneOf(message)
	if got := aged(message, time.Hour).GetProof().GetFence().GetAgeMs(); got != 5+time.Hour.Milliseconds() {
		t.Errorf("age is %d ms", got)
	}
	if got := aged(message, 1<<62).GetProof().GetFence().GetAgeMs(); got != maxAgeMillis {
		t.Errorf("age is %d ms, want no more than the hub accepts", got)
	}
	if !proto.Equal(before, message) || aged(message, 0) != message || aged(message, -time.Second) != message {
		t.Error("the message was changed, or copied for nothing")
	}
}
