// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package globalservice keeps one GlobalService for each Service that members annotate weir.io/global: "true", and
// carries its plan out: DestinationRules and VirtualServices in every member, fences on pods, exports, imports, and Services
// that stand in where a member has none of the name.
//
// It promises that
//   - what is about to be written is first counted as held: a crash between the two leaves a status that says too
//     much, never too little;
//   - while anybody else's rule decides over the host, none of weir's is written; the first of a
//     service wait for a moment, so that one which stood before is heard of first;
//   - a member that is not heard keeps what was known of it, marked Blind, and is never read as empty;
//   - one member that fails holds up no other, and one that does not end holds them up for a bounded time;
//   - a record that is deleted is held until no member has the Service, and one that was lost is made anew from what
//     stands.
//
// It plans nothing: which weights and fences are wanted stands in the spec, which another controller writes. It writes a
// spec only with a record that it makes anew, as what stands and no other.
package globalservice
