// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"time"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/resview/pb"
)

// Snapshot is what the hub knows of one member at one moment. It is never changed once it can be seen: everything in
// it, the maps and messages too, is shared between readers and must not be written to.
//
// What it holds stays after a disconnect; how much it is worth then is for the reader to judge by age.
type Snapshot struct {
	// Cluster is the member's name, from its certificate.
	Cluster string
	// Version grows by at least one with each snapshot of this member. It starts again when the hub does.
	Version uint64

	// Connected reports whether a session is open.
	Connected bool
	// Since is when Connected took its present value; before the first session, when the member was admitted.
	Since time.Time
	// Reason says why the last session ended, or why it was refused, for a person. Empty: it did not, or it ended well.
	Reason string
	// LastBeat is when the newest beat was received. Zero: none was, in the life of this hub.
	LastBeat time.Time
	// APIServerHealthy is what the newest beat said of the member's own API server.
	APIServerHealthy bool

	// Hello opened the newest session. Nil: there was none.
	Hello *pb.Hello
	// Member concerns the whole member. The zero value: not received yet.
	Member Fact[*pb.MemberFacts]
	// served is what the member's API server serves; nil: not received yet.
	served *servedList
	// Services holds the annotated Services of the member.
	Services map[types.NamespacedName]Fact[*pb.ServiceFacts]
	// Targets holds what the member is asked to prove, as it was last set.
	Targets map[types.NamespacedName]*pb.Target
	// Proofs holds the verdicts on Targets as they are now, of this session only: a proof does not outlive the link it
	// came by, nor the question that it answers.
	Proofs map[types.NamespacedName]Fact[*pb.ProofFacts]
	// InventoryComplete reports that Services is the whole list: the newest session has sent it to the end. While it is
	// false a Service that is missing here may still be in the member, and one that is here may be gone.
	InventoryComplete bool
}

// Fact is a message with the time of its receipt by the hub's clock.
type Fact[T any] struct {
	Value      T
	ReceivedAt time.Time
}

// Age returns how old a fact was at now when it was already age old on receipt. It never is negative.
func (f Fact[T]) Age(now time.Time, onReceipt time.Duration) time.Duration {
	return max(0, now.Sub(f.ReceivedAt)) + max(0, onReceipt)
}

// Answer returns the verdict on exactly this target, and false when there is none: the member may have been asked
// something else until now, such as another list of addresses under the same generation. Whether it is active makes no
// difference, nor does its question.
func (s *Snapshot) Answer(target *pb.Target) (Fact[*pb.ProofFacts], bool) {
	name := refName(target.GetRef())
	proof, ok := s.Proofs[name]
	if !ok || !sameQuestion(s.Targets[name], target) {
		return Fact[*pb.ProofFacts]{}, false
	}
	return proof, true
}

// sameQuestion reports whether two targets ask the same.
func sameQuestion(a, b *pb.Target) bool {
	if a == nil || b == nil {
		return false
	}
	plain := func(t *pb.Target) *pb.Target {
		out := proto.CloneOf(t)
		out.Question, out.Active = 0, false
		return out
	}
	return proto.Equal(plain(a), plain(b))
}

// Change names what differs between two snapshots.
type Change struct {
	// Cluster is the member.
	Cluster string
	// Service is the Service whose facts or proofs changed. The zero value: something that concerns the whole member,
	// such as the session, MemberFacts or InventoryComplete. A beat is no change.
	Service types.NamespacedName
}

func refName(ref *pb.ServiceRef) types.NamespacedName {
	return types.NamespacedName{Namespace: ref.GetNamespace(), Name: ref.GetName()}
}
