// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !mutant_skipfence

package mutant

// SkipFence leaves out the fence: pods are taken as fenced that are not.
const SkipFence = false
