// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package canary subscribes to one replica of istiod as a proxy would, and
// learns from what it gets which push carries what.
//
// A canary acknowledges everything, applies nothing and serves nobody. It asks
// for routes and endpoints by name. Since it stands in the member's own network
// and cluster, it is given what the member's proxies are given.
//
// Promises:
//   - What a canary knows is bound to one stream. When the stream breaks, all
//     is forgotten: the process at its other end may be another one.
//   - What stood in the first answer on a stream is marked as such: the push
//     that brought it may have been an earlier one. So is what istiod may have
//     sent to this canary alone.
//   - Ledger, which keeps the knowledge, is pure: the same answers in the same
//     order leave the same knowledge.
//   - Reconnects back off, and one answer is bounded in size.
//
// It never judges a proxy, and never tells what would be sent next.
package canary
