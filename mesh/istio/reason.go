// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"cmp"
	"slices"
)

// Reason is one thing a person should know about rules: why there are none, or
// what they cannot do. Its message is stable for the same input, so it may stand
// in a condition.
type Reason struct {
	Code ReasonCode
	// Cluster and Port say what it is about; empty and 0 where it is about all.
	Cluster string
	Port    int32
	// Message says what is so and, where a person can do something, the way out.
	Message string
}

// ReasonCode is the machine's word for a Reason, fit for a condition.
type ReasonCode string

const (
	// Invalid: the input contradicts itself or cannot be said in Istio's words.
	// No rule is rendered.
	Invalid ReasonCode = "Invalid"
	// NoWeight: the weights are all zero. No rule is rendered.
	NoWeight ReasonCode = "NoWeight"
	// NoGateway: a cluster of another network cannot be told apart, or not be
	// reached, for want of a gateway of its own. No rule is rendered.
	NoGateway ReasonCode = "NoGateway"
	// SingleCluster: fewer than two clusters have the Service, so there is
	// nothing to weigh. No rule is rendered.
	SingleCluster ReasonCode = "SingleCluster"
	// NoPorts: the Service has no port that the mesh carries. No rule is
	// rendered.
	NoPorts ReasonCode = "NoPorts"
	// FenceOnly: a port has no weights; the fence alone moves its traffic.
	FenceOnly ReasonCode = "FenceOnly"
	// NoSpill: a dead cluster keeps its share until its weight is moved.
	NoSpill ReasonCode = "NoSpill"
	// LongConnections: a weight edit cuts connections of this TCP port.
	LongConnections ReasonCode = "LongConnections"
	// Rounded: a weight differs from what was asked by more than a percent.
	Rounded ReasonCode = "Rounded"
	// Replaced: the rule takes the place of a setting of the Service.
	Replaced ReasonCode = "Replaced"
	// OverBudget: the rules would cost proxies more than is allowed.
	OverBudget ReasonCode = "OverBudget"
)

// Blocks says whether no rule is rendered for this reason because something is
// wrong. SingleCluster and NoPorts are not wrong: there is just nothing to do.
func (c ReasonCode) Blocks() bool {
	return c == Invalid || c == NoWeight || c == NoGateway || c == OverBudget
}

// Blocked says whether one of the reasons blocks.
func Blocked(reasons []Reason) bool {
	return slices.ContainsFunc(reasons, func(r Reason) bool { return r.Code.Blocks() })
}

// sortReasons gives them one order, whatever order they were found in, and drops
// repeats.
func sortReasons(rs []Reason) []Reason {
	slices.SortFunc(rs, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Cluster, b.Cluster),
			cmp.Compare(a.Port, b.Port), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(rs)
}
