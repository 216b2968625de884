// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sync makes members hold what the hub holds a template of, and says what they hold.
//
// For each FederatedDeployment it takes the plan of the ResourceBinding, for each FederatedService the placement, and for
// each member concerned
//
//  1. renders the exact object: template, overrides of the member, replicas planned there; a selector that is missing is
//     filled in, the same in every member
//  2. reads the member's copy
//  3. records in a Work what the member shall hold, before it holds it
//  4. writes the copy, if it differs; or takes it away
//  5. says in status what was seen there
//
// # What it promises
//
//   - A copy that stands as it shall gets no write.
//   - An object that weir did not make is never written, and never deleted: it is a conflict, shown with the way out.
//   - Of a copy, the template wins over edits in members, but for retained fields and for replicas that an autoscaler owns.
//   - An autoscaler's limits are lowered for a drain alone, and come back as they were: with the replicas, and wherever the
//     copy goes. What their owner changed meanwhile is his.
//   - Replicas are lowered, and copies deleted, only after the plan was read past the cache. A copy that left the placement
//     goes when it has no replicas any more.
//   - A template that cannot be read leaves the copies as they are; their replicas still follow the plan.
//   - A member that does not answer holds up no other, and what it said last stands, marked as not seen.
//
// It decides neither where replicas are nor when they move.
package sync
