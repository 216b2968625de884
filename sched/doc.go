// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sched decides how many replicas of a workload each cluster shall run.
//
// A [Request] and the [ClusterView] of every cluster go in, a [Decision] with its reasons comes out. That is the whole
// contract; whoever brings these values, from an API server or from files, gets the same answer. The hub never names a
// node: a member's own scheduler does that.
//
//	fleet, err := sched.NewFleet(views)       // once for each set of views
//	batch := sched.NewBatch(fleet, reserved)  // once for each batch of requests
//	decision := batch.Decide(&request)        // for each request
//	…
//	objections := sched.Recheck(newest, &request, &decision) // before it is written
//
// # Steps of a decision
//
//  1. filter: which clusters may hold the workload at all, new replicas or only what they have
//  2. fit: how many more of its pods each has room for, counted on node shapes and less what is reserved
//  3. score: weights, by preference and by health; how much of the room is to be believed, by the view's age
//  4. divide: how many each gets
//  5. explain: a reason for each cluster that was left out or got less than its share
//  6. reserve: what is new is taken out of the room that later requests of the batch see
//
// The check of versions (7) is made at the time of commit, against newer views.
//
// # What it promises
//
// Same input, same output, whatever the order of the views. What is placed and what is not sum to what was asked for.
// Nothing is placed where it does not fit; the rest is a number with reasons. Every cluster that holds nothing has a
// reason. A decision fed back as what stands is decided again as it is. The promises of a
// division are those of package divide.
//
// It has no clock, no randomness, no log and no client. Ages come in as numbers.
package sched
