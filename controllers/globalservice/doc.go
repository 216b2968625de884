// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package globalservice keeps one GlobalService for each Service that members annotate weir.io/global: "true", and
// carries its plan out: DestinationRules and VirtualServices in every member, fences on pods, exports and imports.
//
// It promises that
//   - what is about to be written is first counted as held: a crash between the two leaves a status that says too
//     much, never too little;
//   - while anybody else's rule decides over the host, none of weir's is written;
//   - a member that is not heard keeps what was known of it, marked Blind, and is never read as empty;
//   - one member that fails holds up no other.
//
// It plans nothing: which weights and fences are wanted stands in the spec, which another controller writes.
package globalservice
