// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shift decides the next safe step when the traffic and the replicas of one
// service move from one split over clusters to another: a drain, its undoing, an abort
// half way, or any other move.
//
// [Next] is a function of a [State] alone. It keeps nothing, reads no clock, and asks
// nobody; the caller gathers the State, carries out the one [Step] it is given, and
// gathers again. A crash between any two steps costs leases and quiet, never an order.
//
// # The order
//
//	drain    ReplicasUp ─▶ Rules ─▶ Split… ─▶ DNSOut ─▶ Split(0) ─▶ Fence… ─▶ ReplicasDown ─▶ Done
//	         others ready  proven   proven    before    proven      proven    quiet, idle,
//	                                          zero      at zero     whole     caches expired
//
//	undrain  ReplicasUp ─▶ Unfence ─▶ DNSIn ─▶ Split… ─▶ Fence ─▶ ReplicasDown ─▶ Release ─▶ Done
//	abort    all ready     proven              proven    of pods that are too many elsewhere
//	move     the same, cluster by cluster: who gets more as in an undrain, who gets less as
//	         in a drain of those pods alone, who gets none as in a drain
//
// Plain services, whose replicas weir does not own, go the same way without ReplicasUp
// and ReplicasDown: their drain is Done when the cluster is fenced, proven and quiet, so
// that their pods could go. Services steered OnDemand have no Rules and no Split: the
// fence alone moves their traffic, a step at a time. A lease that lapsed on the way is
// renewed by writing the same again (Renew).
//
// Giving comes before taking in every decision, which is all that an abort needs: what was
// not taken yet need not be given back, and where no pod was fenced or removed, weights
// come first.
//
// Others may be at a workload that weir owns. While its pods are being replaced none of
// them goes and no weight rises on them. Where an autoscaler sets the replicas, weir does
// not: what it asks for beyond what was decided stays, and what it asks for too little is
// said. A drain alone takes its pods, by lowering its limits, and ReplicasUp gives those back;
// an autoscaler whose limits somebody else keeps is waited for. And where a goal is newer than the decision that the targets are of, only what goes
// back to its start moves. Pods that are not ready serve nobody: where too many were asked
// for, those go first, and need no fence.
//
// # What holds in every state weir brings about
//
//  1. [Fits]: a cluster's replicas go down only when what may still arrive there fits the
//     smaller number: every weight that a proxy may hold, and, where all shall go, what the
//     reflex may send there when another cluster empties.
//  2. [Emptied]: a pod goes only when it is fenced (proven), quiet, and its work is done;
//     the last two at most until their limits. A cluster's last pod goes only when, besides,
//     no DNS answer that names the cluster is left in a cache.
//  3. [Carried]: weight rises only as far as ready pods carry it, and falls only if the
//     others can take it. A step of the fence is a fall of weight by other means.
//  4. [Routed]: a rule never has a single destination, weights are never all zero, and
//     nobody blind is given more.
//  5. [Kept]: the last ready copy is never removed, nor one that a disruption budget,
//     counted over all clusters, wants.
//  6. [Backwards]: what comes back comes replicas first, then unfenced (proven), then
//     weights.
//  7. [Ends]: in a fair environment every shift reaches Done, within a bounded number of
//     steps; every [Blocked] names the event that wakes it, and that event leads to a step.
//
// And [OneWrite]: at most one unproven write is in flight, and none while somebody else
// writes rules for the host.
//
// The tests walk every state that small services can get into, with late proxies, lost
// leases, crashes of weir and emptied clusters, by calling Next itself. [Violations], an
// oracle that shares no guard with Next, judges each step on the way.
//
// # What it leaves to the caller
//
// It proves nothing: a proof is only as good as the State says. The caller keeps the start
// of a move (Before) from the first goal until Release, lifts the limits that have passed
// (Overdue), resets leases after a write, and reports a lease as Lapsed when an istiod
// changed or someone else wrote. Release also ends the fence's hold on new pods in clusters
// that hold none. Two steps of one service are never carried out at the same time.
//
// It never writes, logs, or waits; it never removes a pod of a plain service; and it has no
// way to be forced.
package shift
