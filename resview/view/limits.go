// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

// Bounds of one member's view. They are far above what a large member has, and low enough that sums never run over and
// that a hostile member costs the hub no more than a share it can spare.
const (
	// MaxNodes is how many nodes a view holds.
	MaxNodes = 20_000
	// MaxAmount is the most of one resource on one node: 256 TiB, or as many units. MaxNodes times as much is still a sum
	// that an int64 holds.
	MaxAmount = int64(1) << 48
	// MaxAmounts is how many resources one list of amounts names.
	MaxAmounts = 32
	// MaxResources is how many resources all nodes of a view have between them.
	MaxResources = 64
	// MaxLabels and MaxTaints are how many a node has.
	MaxLabels = 256
	MaxTaints = 64
	// MaxName is the longest name or text, in bytes: a prefix of 253, a slash and a name of 63.
	MaxName = 317
	// MaxBytes is how much text and how many numbers a view holds in all.
	MaxBytes = 32 << 20
)
