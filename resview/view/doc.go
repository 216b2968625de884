// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package view keeps what a member's nodes hold and how much of it is taken: one Book a member, changed by events, and
// immutable Views of it that anybody reads without a lock.
//
// Promises:
//   - A Book changes by events in order, each once. An event that comes again, too early, or under a number that another
//     one has, is named as that (Order) and changes nothing.
//   - What a snapshot says and what the events after it say add up to what a later snapshot says: loading that one gives
//     the same View.
//   - An event is applied whole or not at all, and nothing outside the bounds (see limits.go) is ever held. A FaultError says
//     whether the sender broke a rule or the two ends only lost step, which a full snapshot repairs.
//   - A View never changes. It shares with later ones what did not change between them.
//   - The same events give the same View.
//
// It keeps no pods: an event of a pod carries what the pod takes or gives back, and of an event that may come twice the
// number tells. It reads no clock, decides nothing about placement, and knows nothing of the wire.
package view
