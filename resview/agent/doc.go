// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent is the process in a member: it joins what the inventory sees, what the prover proves and what the
// sidecars count, and tells the hub over the connection that it dials. What the recorder sees of nodes goes beside it.
//
// Promises:
//   - It tells only what changed, and everything again after a reconnect.
//   - It says nothing rather than something false: before its caches are filled it sends no fact at all, and a verdict
//     counts for a question only if all of its evidence was judged after that question was put.
//   - What the hub asks stays in force while the hub is away.
//
// It writes nothing in the member but its own identity (a Secret of its namespace), tokens of the prover's account, and
// events on Services whose annotations say nothing that weir knows. It decides nothing about traffic.
package agent
