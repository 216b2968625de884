// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build mutant_skipquiet

package mutant

// SkipQuiet leaves out the wait for pods and gateways to be quiet.
const SkipQuiet = true
