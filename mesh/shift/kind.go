// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

// Kind is what a Step does.
type Kind uint8

// The closed list of Kind values.
const (
	// Wait does nothing: every reason stands in the Blocked list.
	Wait Kind = iota
	// ReplicasUp asks the workload for more replicas.
	ReplicasUp
	// ReplicasDown asks for fewer; only fenced pods may go.
	ReplicasDown
	// Rules writes the DestinationRules in every config cluster.
	Rules
	// Split writes new weights under a new generation.
	Split
	// Fence puts the fence on more pods.
	Fence
	// Unfence takes the fence off.
	Unfence
	// DNSOut takes the cluster out of the DNS answers.
	DNSOut
	// DNSIn puts the cluster back into the DNS answers.
	DNSIn
	// Renew writes the same content as a new generation, so that it can be proven again.
	Renew
	// Release lets go of what the move held: its record, its leases, and the shut entry of
	// clusters without pods. From then on Target alone says what stays: after an abort the
	// caller sets it to what Before was.
	Release
	// Done says that every goal is met; there is nothing to do.
	Done
)

var kindNames = []string{"Wait", "ReplicasUp", "ReplicasDown", "Rules", "Split", "Fence", "Unfence", "DNSOut", "DNSIn", "Renew", "Release", "Done"}

// String returns the name that files and sentences use.
func (k Kind) String() string { return nameOf(kindNames, uint8(k)) }

// MarshalText writes the name; an unknown value is an error.
func (k Kind) MarshalText() ([]byte, error) { return textOf(kindNames, uint8(k)) }

// UnmarshalText reads a name that MarshalText wrote.
func (k *Kind) UnmarshalText(text []byte) error { return parse(kindNames, "Kind", text, (*uint8)(k)) }

// Subject is the kind of write that a Renew repeats or a Blocked waits for.
type Subject uint8

// The closed list of Subject values.
const (
	// NoSubject is none of them.
	NoSubject Subject = iota
	// RulesSubject is the DestinationRules.
	RulesSubject
	// WeightsSubject is the split.
	WeightsSubject
	// FenceSubject is the fence.
	FenceSubject
)

var subjectNames = []string{"None", "Rules", "Weights", "Fence"}

// String returns the name that files and sentences use.
func (s Subject) String() string { return nameOf(subjectNames, uint8(s)) }

// MarshalText writes the name; an unknown value is an error.
func (s Subject) MarshalText() ([]byte, error) { return textOf(subjectNames, uint8(s)) }

// UnmarshalText reads a name that MarshalText wrote.
func (s *Subject) UnmarshalText(text []byte) error {
	return parse(subjectNames, "Subject", text, (*uint8)(s))
}

// Evidence says what stands behind "quiet" in a step.
type Evidence uint8

// The closed list of Evidence values.
const (
	// NotAsked means that the step takes no pod away.
	NotAsked Evidence = iota
	// Measured means that no arrival was seen twice, and no work in flight.
	Measured
	// Limit means that a limit passed instead.
	Limit
)

var evidenceNames = []string{"NotAsked", "Measured", "Limit"}

// String returns the name that files and sentences use.
func (e Evidence) String() string { return nameOf(evidenceNames, uint8(e)) }

// MarshalText writes the name; an unknown value is an error.
func (e Evidence) MarshalText() ([]byte, error) { return textOf(evidenceNames, uint8(e)) }

// UnmarshalText reads a name that MarshalText wrote.
func (e *Evidence) UnmarshalText(text []byte) error {
	return parse(evidenceNames, "Evidence", text, (*uint8)(e))
}
