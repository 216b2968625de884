// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package istio turns a wish for a Service's traffic into Istio rules, and reads
// the rules that others wrote for the same Service.
//
// Render makes, for one config cluster, a DestinationRule for each host, with a
// subset for each cluster, and a VirtualService with weights over those subsets.
// The DestinationRule is the reflex: proxies leave a dead cluster by themselves,
// in milliseconds, with no controller in the loop. It stays the same from one
// shift to the next. The VirtualService is the plan: only its weights and the
// names of its routes move.
//
// Foreign finds rules that would take the place of ours, or whose place ours
// would take. Drift finds what someone else changed in ours. ReadStanding reads
// the weights of ours back. Cost says what the rules add to each proxy.
//
// The package promises:
//
//   - A route never has a single destination, and its weights are never all zero:
//     Istio ignores the weight of a sole destination.
//   - Weights sum to 100; a share of zero is written as zero, and no share above
//     zero becomes zero.
//   - The same input gives the same rules, whatever the order of its lists.
//   - Every object names its audience by exportTo, the system namespace included.
//
// It never ejects an endpoint for the application's own 5xx, never bounds the
// time of a request (only that of connecting), never renders a rule for a host
// that it was not told of, and never reads a clock, a random source or an API
// server.
package istio
