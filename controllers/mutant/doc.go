// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mutant names what a build leaves out on purpose, so that the long tail can show what each check is there for.
//
// A shift waits for proofs that proxies have let go, for the fence, and for quiet. A build with one of the tags
// mutant_skipproof, mutant_skipfence and mutant_skipquiet takes one of them as given. Under a fault that this check guards
// against, such a build must lose requests; if it loses none, either the check or the test is worth nothing.
//
// # What it promises
//
//   - Every constant is false in a build without tags, and the compiler then drops what hangs on it.
//
// # What it never does
//
// It reads no environment and no flag: nobody can leave a check out of a build that has them all.
package mutant
