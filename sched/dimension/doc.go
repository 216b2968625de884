// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dimension holds amounts of resources as whole numbers, in vectors whose places are the resources that a fleet
// knows.
//
// A dimension is a resource name and nothing else: cpu counts thousandths of a core, every other name its own unit (bytes,
// pieces). So a resource that weir has never heard of, a DPU or a licence, is counted like any other, and no code
// changes for it. Two names are special: cpu for its unit, and pods, of which every pod needs one and which does not
// limit a node that does not state it.
package dimension
