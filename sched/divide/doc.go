// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package divide splits a number of replicas over clusters: one allocator for weights, floors, ceilings, room and what
// stands already.
//
// # How
//
// Every replica that a cluster may hold is a seat: the k-th seat of a cluster with weight w is worth w/(2k+1), k from 0,
// which is the divisor method of Webster. A division is a walk up a ladder of floors, and [Divide] fills the seats between
// two rungs, the worthiest first, until all replicas are given:
//
//	0 ─▶ minima ─▶ what frozen clusters have ─▶ what the others have ─▶ maximum or room
//	     one each,  the worthiest seats first    (left out when           worthiest first; new
//	     then two…                                rebalancing)            seats count NewWeight
//
// A replica above what stands is thus a new one by weight; one below is taken from who is furthest above its share. The
// rungs and the order of the seats depend on everything but the number of replicas, and that is why a division is monotone.
//
// # What it promises
//
//   - The replicas given and the replicas left over sum to the total, exactly.
//   - One more replica never lowers anybody.
//   - Nobody is above its maximum or its room. A drain is a maximum of 0 and beats the minimum.
//   - The minimum is a floor under the share, not added to it. Where the minima are more than the total they are filled one
//     by one, a second nowhere before a first everywhere, those that come First before the others; who has less than its
//     minimum is short.
//   - No division that keeps these rules moves less, unless it is asked to rebalance.
//   - Fed its own answer it gives the same answer.
//   - A cluster whose NewWeight is 0 gets nothing above its minimum and what it has. All weights 0 place only minima.
//   - What a frozen cluster has is taken only for minima, by its own limits, or when the total is less.
//   - Equally worthy seats go to who has them already, then to fewer replicas, then by Tie, then by the cluster's place in
//     the list: with Ties that differ the order of the list changes nothing.
//
// It knows nothing of clusters but these numbers, has no floats, and reads no clock.
package divide
