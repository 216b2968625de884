// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"time"

	"github.com/weir-io/weir/mesh/prover/canary"
	"github.com/weir-io/weir/mesh/prover/census"
	"github.com/weir-io/weir/mesh/prover/concern"
	"github.com/weir-io/weir/mesh/prover/syncz"
)

// Observation is all that Evaluate looks at: one target, and what was read at
// one time. It holds no handle to anything.
type Observation struct {
	Now    time.Time
	Target Target
	// Asked is when the questions of Target were first asked.
	Asked Asked
	// Namespace is Istio's system namespace, where canaries live.
	Namespace string
	// Network is the member's Istio network.
	Network string
	// Replicas are all istiod pods of the member.
	Replicas []Replica
	// Pods are all pods of the member with a proxy. CensusKnown is false when
	// they could not be listed.
	Pods        []census.Pod
	CensusKnown bool
	// Settled is when every replica was first seen to serve what Target wants;
	// zero while one does not.
	Settled time.Time
	// Reach tells for each connected proxy how it can reach the target's
	// hosts. A proxy that is not in it has not been looked at.
	Reach map[string]concern.Reach
	// Young are those of Reach that show no route of ours in a configuration
	// that was read too soon after the routes were written to tell.
	Young map[string]bool
}

// Asked is when each question of a target was first asked.
type Asked struct {
	Rules, Weights, Fence time.Time
}

// Replica is one replica of istiod as it was seen.
type Replica struct {
	Pod IstiodPod
	// Keeps means that an istiod of this version pushes endpoints alone without
	// raising the version, so that equal versions do not prove equal endpoints.
	Keeps bool
	// Canary is what the canary answers for the target. It is asked after
	// Reading was read.
	Canary canary.Answer
	// CanaryRefused means that the replica refuses the canary's identity.
	CanaryRefused bool
	// Reading is the newest reading that succeeded.
	Reading Reading
	// Fault tells why the newest reading failed; empty when it did not.
	Fault ReasonCode
}

// Reading is one answer of /debug/syncz.
type Reading struct {
	// Began and Ended are when it was asked for and when it was complete.
	// Zero means that there is none.
	Began, Ended time.Time
	Connections  []syncz.Connection
	// Stream is the canary's stream whose nonce the reading showed, which
	// proves that both are of one process; 0 when it showed none.
	Stream uint64
	// Canary is the canary's own row for endpoints.
	Canary syncz.Status
}

// Rules are the constants of judging.
type Rules struct {
	// Hold is how far apart two agreeing reads must be.
	Hold time.Duration
	// Lease is how old evidence may be.
	Lease time.Duration
	// TimedAfter is how long to wait for what can not be seen.
	TimedAfter time.Duration
	// MaxProxies and MaxReasons bound the lists of a verdict.
	MaxProxies, MaxReasons int
}

// DefaultRules are the constants that the design states.
func DefaultRules() Rules {
	return Rules{
		Hold:       2 * time.Second,
		Lease:      10 * time.Second,
		TimedAfter: 30 * time.Second,
		MaxProxies: 1000,
		MaxReasons: 20,
	}
}

// Memory is what Evaluate must be handed back at the next call for the same
// target. The zero Memory is the right one for a new target, and after a loss:
// it only costs another hold.
type Memory struct {
	rules, weights, fence claimMemory
}

// claimMemory is the memory of one claim.
type claimMemory struct {
	question string
	// agreed is since when each replica and proxy agrees, by a key that holds
	// the replica and the canary's stream.
	agreed map[string]time.Time
	since  time.Time
	// generation and content are those of question. marks are for istiods that
	// push endpoints under an old version.
	generation int64
	content    string
	marks      map[string]mark
	// unsent are proxies that were not sent the push to reach, by replica,
	// stream and proxy.
	unsent map[string]unsent
	// renew is set once a new generation was asked for, and vain counts the
	// generations before this one for which that was so and brought no proof.
	renew bool
	vain  int
}

// mostVain is how often patience doubles.
const mostVain = 4

// ask is what counts of the memory for another question. While only addresses
// change, as with each pod that comes or goes, what a proxy waits for is the
// same. What was seen by content stands when the same is asked of the next
// generation, which is what it needs; between generations further apart the
// addresses may have been others.
func (m claimMemory) ask(c claim) claimMemory {
	out := claimMemory{question: c.question, generation: c.generation, content: c.content, vain: m.vain}
	switch {
	case m.generation == c.generation:
		out.unsent, out.renew = m.unsent, m.renew
	case m.renew:
		out.vain = min(m.vain+1, mostVain)
	}
	if m.content == c.content && c.generation <= m.generation+1 {
		out.marks = m.marks
	}
	return out
}
