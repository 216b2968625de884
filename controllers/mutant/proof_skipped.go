// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build mutant_skipproof

package mutant

// SkipProof leaves out the proofs that proxies follow the weights and the fence that were written.
const SkipProof = true
