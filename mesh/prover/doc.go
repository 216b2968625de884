// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prover proves, inside a member cluster, what its proxies still do:
// that none of them uses an older weight, that none of them holds an endpoint
// that was fenced, and that nothing arrives any more at a pod that is to go.
//
// It asks the control plane, never the proxies themselves: of every replica of
// every istiod in the member it holds one canary subscription, which learns the
// push that first carried a generation of ours, and it reads /debug/syncz,
// which tells for each proxy the last push that proxy acknowledged. A proxy
// that acknowledged the canary's push, or a later one of the same istiod
// process, has what the canary has.
//
// Promises:
//   - Proven is said only when every replica, every connected proxy that is
//     concerned, and the census of proxies that should be connected were seen
//     to agree on two reads at least two seconds apart.
//   - What blocks a proof is named: a replica, a proxy, a pod.
//   - Evidence never outlives the istiod process it came from. Each reading is
//     bound to the canary's own stream by a nonce that only that process can
//     have made, so that a restart between two questions can not pass.
//   - Evaluate is pure: the same observations give the same verdict.
//   - Every answer read is bounded in size and in time.
//
// It never writes to an API server or to istiod, never decides a step, and
// never treats silence as consent.
//
// What it can not see: istiod reads endpoints at the moment it answers, not
// from the snapshot that its push counter names. A push under way while a pod
// is fenced may so reach the canary without the pod and an earlier served proxy
// with it. The push that follows, at most one debounce later, is seen by both;
// the hold between the two reads covers it up to Config.Hold. A mesh whose
// endpoints change without pause can stretch the debounce to ten seconds, and
// is why pods also have to be quiet before they go. A canary that asks for a
// service later than with its first request has missed what was pushed before,
// and waits for the next push about it.
package prover
