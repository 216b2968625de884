// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent is the process in a member: it joins what the inventory sees, what the prover proves and what the
// sidecars count, and tells the hub over the connection that it dials.
//
// It promises to tell only what changed, to tell everything again after a reconnect, and to say nothing rather than
// something false: before its caches are filled it sends no fact at all. It writes nothing in the member but its own
// identity (a Secret of its namespace) and events on Services whose annotations say nothing that weir knows.
package agent
