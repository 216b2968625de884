// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"github.com/weir-io/weir/mesh/prover"
	"github.com/weir-io/weir/resview/pb"
)

// questions knows whether a verdict answers what the hub asks now. A verdict names the target that it judged only in
// part, and one of the target before may still be on its way when the prover has the new one.
//
//	new question ──▶ a round that may have begun before it ──▶ a round that began after that one ended: settled
//
// The first round whose evidence is newer than the question may have begun with the old target. The one after it began
// when the first was over, and so with the new. A proof needs two looks anyway; waiting for the second costs nothing.
type questions struct {
	of map[prover.Key]question
}

type question struct {
	number uint64
	asked  time.Time
	first  time.Time // evidence of the first round after asked
}

// put notes what is asked now. The prover must have it already.
func (q *questions) put(asked []*pb.Target, now time.Time) {
	next := make(map[prover.Key]question, len(asked))
	for _, t := range asked {
		key := keyOf(t.GetRef())
		old, known := q.of[key]
		if !known || old.number != t.GetQuestion() {
			old = question{number: t.GetQuestion(), asked: now}
		}
		next[key] = old
	}
	q.of = next
}

// settled takes in a verdict's evidence, and says whether the verdict answers the question with that number.
func (q *questions) settled(key prover.Key, number uint64, evidence time.Time) bool {
	x, known := q.of[key]
	if !known || x.number != number || !evidence.After(x.asked) {
		return false
	}
	if x.first.IsZero() {
		x.first = evidence
		q.of[key] = x
	}
	return evidence.After(x.first)
}

func keyOf(ref *pb.ServiceRef) prover.Key {
	return prover.Key{Namespace: ref.GetNamespace(), Name: ref.GetName()}
}
