// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package liveness decides how much contact the hub has with a member, and what may be done for want of it.
//
// Judge speaks of the agent's beats alone. Next is the state machine of the whole member, from one look to the next:
//
//	          beats missed              agent and API server silent for DeadAfter
//	Healthy ───────────────▶ Suspect ─────────────────────────────────────────────▶ Dead
//	   ▲                     │    │                                                 │ ▲
//	   └─────── a beat ──────┘    └─ the same, and traffic to it succeeds ▶ Partitioned
//	   ▲                                                                            │
//	   └───────── beats again, for Hold without a gap ──────────────────────────────┘
//
// Promises:
//   - Silence alone makes no member Dead: its API server must have failed every probe for DeadAfter as well. "Agent silent,
//     API server answers" and the reverse are reasons of their own.
//   - A member that is Dead or Partitioned is Healthy again only after contact has lasted for Hold.
//   - Nothing is to be moved away from a member by silence. That needs evidence of two independent sources, or a person's
//     word; while traffic to the member succeeds it is Partitioned, and kept.
//   - While more of the fleet is silent than can be true, nobody becomes Dead: the hub suspects itself.
//
// It is pure: time and evidence come in as values, and the same input gives the same verdict.
package liveness
