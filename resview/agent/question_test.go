// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-io/weir/mesh/prover"
	"github.com/weir-io/weir/resview/pb"
)

var (
	epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cart  = prover.Key{Namespace: "shop", Name: "cart"}
)

func asked(question uint64) *pb.Target {
	return &pb.Target{Ref: &pb.ServiceRef{Namespace: cart.Namespace, Name: cart.Name}, Question: question}
}

func TestVerdictSettlesWithTheSecondRoundAfterItsQuestion(t *testing.T) {
	at := func(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }
	var q questions
	q.put([]*pb.Target{asked(7)}, at(10))
	for _, step := range []struct {
		evidence int
		settled  bool
		why      string
	}{
		{9, false, "evidence from before the question"},
		{10, false, "evidence of the moment of the question"},
		{11, false, "a round that may have begun before"},
		{11, false, "the same round, looked at again"},
		{12, true, "the next round"},
	} {
		if got := q.settled(cart, 7, at(step.evidence)); got != step.settled {
			t.Errorf("%s: settled %t, want %t", step.why, got, step.settled)
		}
	}
	q.put([]*pb.Target{asked(7)}, at(13))
	if !q.settled(cart, 7, at(12)) {
		t.Error("the same question, put again, is no longer settled")
	}
	if q.settled(cart, 8, at(20)) {
		t.Error("a question that was never put is settled")
	}
	q.put([]*pb.Target{asked(8)}, at(21))
	if q.settled(cart, 8, at(20)) || q.settled(cart, 8, at(22)) || !q.settled(cart, 8, at(23)) {
		t.Error("another question does not begin anew")
	}
	q.put(nil, at(24))
	if q.settled(cart, 8, at(30)) {
		t.Error("what is asked no more is settled")
	}
}

// A prover as it works: a round takes the target when it begins, reads, and shows its verdict when it ends, while targets
// change at any time. Whatever the order, a settled verdict is of the question that is asked.
func TestSettledVerdictIsAlwaysOfThePresentQuestion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			q               questions
			now             = epoch
			question        uint64
			judging, judged uint64 // question of the round under way, and of the verdict shown
			running         bool
			read, shown     time.Time
			settled         int
		)
		tick := func(t *rapid.T) {
			now = now.Add(time.Duration(rapid.IntRange(1, 1000).Draw(t, "ms")) * time.Millisecond)
		}
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				tick(t)
				question++ // The prover has it before it is noted.
				q.put([]*pb.Target{asked(question)}, now)
			},
			"begin": func(t *rapid.T) {
				tick(t)
				if !running {
					running, judging, read = true, question, time.Time{}
				}
			},
			"read": func(t *rapid.T) {
				tick(t)
				if running {
					read = now
				}
			},
			"end": func(t *rapid.T) {
				tick(t)
				if running && !read.IsZero() {
					running, judged, shown = false, judging, read
				}
			},
			"": func(t *rapid.T) {
				if q.settled(cart, question, shown) {
					settled++
					if judged != question {
						t.Fatalf("a verdict on question %d passes for one on %d", judged, question)
					}
				}
			},
		})
	})
}
