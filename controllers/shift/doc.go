// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shift plans every move of traffic. For each GlobalService it gathers what is known into a shift.State, asks
// mesh/shift for the next safe step, and writes that step into the GlobalService's spec; another controller carries it
// out, and what becomes of it comes back as status.
//
// It promises that
//   - a plan is written only on top of the plan that was read (resourceVersion), and only after the one before it was
//     carried out and observed: at most one unproven write is under way for a service;
//   - what stood when a move began is written down before the first step, so that a restart knows the way back;
//   - every step and every reason to wait is kept in status, with the proofs it rested on.
//
// It decides nothing itself: which step is safe is mesh/shift's to say. It writes to no member.
package shift
