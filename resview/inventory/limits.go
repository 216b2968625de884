// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

// Bounds on what is said of one Service and of the member, within those that the hub takes (see package stream). Where
// cutting a list short could make the hub act on half the truth, as with pods, the list stays whole, and the hub refuses
// it in the open; a finding says so besides.
const (
	maxPods        = 5000
	maxAnnotations = 64
	maxAnnotation  = 4096
	maxBinding     = 2 * 253 // A namespace and a name.
	maxRules       = 256
	maxRuleBytes   = 64 << 10
	maxRulesBytes  = 2 << 20 // of one Service: it must fit into one message with its pods.
	maxOutOfSight  = 32      // Sidecars that merely do not import the host, for one Service.

	maxIstiods    = 64
	maxGateways   = 500
	maxAddresses  = 16
	maxNamespaces = 5000
	maxFindings   = 500
	maxName       = 253
	maxSubject    = 512
	maxText       = 1024
)
