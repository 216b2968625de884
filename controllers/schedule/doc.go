// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule decides how the replicas of federated workloads are divided over members, and plans the way there.
//
// One pass looks at all ResourceBindings at once:
//
//  1. gather: bindings with their workloads, Clusters, drains, views of the members' nodes
//  2. why: which bindings are to be decided (again), and for what reason
//  3. decide: all of them in one batch of package sched, each seeing the room that those before it left, beside what was
//     decided before and is not running yet
//  4. check: what was decided is held against the newest views, and decided again where they no longer bear it
//  5. plan: what each member shall hold now, on the way from what stands to what is decided
//  6. write: decision and plan into the binding's spec, and what was decided and why into its status
//
// # What it promises
//
// A decision changes only for a reason that is one of v1alpha1.DecisionTrigger, and the last ten stand in the binding. A split by
// weights, which an undrain or a new preference asks for, is lost to nothing that happens at the same time, and made once more
// when clusters that could not be counted on then can be.
// Nothing is placed by a view that has moved past what the decision can bear. A cluster that is being drained gets
// nothing. A cluster of which nothing is heard keeps what it has. A cluster in which pods of a workload find no node for two
// minutes, whatever its view shows, counts as full for that workload for fifteen.
//
// A plan never lowers a member's replicas while those that stay do not have as many ready ones elsewhere as were wanted
// before: up first, then down. A binding that was lost is made anew from what is on record in Works, not from nothing.
//
// Where the pods of a workload are behind a global service, the way there is that of the service's shift: traffic and
// replicas move in one order, and this package copies what the shift plans ([PlanOf]).
//
// It writes no member, and no weights.
package schedule
