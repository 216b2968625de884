// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inventory is what the agent reads in its member: the Services that are annotated as global, those that weir
// made to stand in for one, and those that are global no longer while their pods still bear a fence; the pods and
// workloads behind them, the disruption budgets on those, the rules that decide over their hosts, and the mesh's own parts
// (istiods, gateways, settings); and, besides, which kinds the API server serves.
//
// It promises that every answer is complete: until each kind that the member serves has been listed once, it says so and
// shows nothing. A kind that the member does not serve (Istio, Gateway API or MCS not installed) counts as empty and is
// looked for again. The prover gets nothing while the member's API server is silent, since what changes there is not told
// then; the facts stay, because they are what was true last. Facts are built by pure functions from what the informers
// hold: the same objects give the same facts, in the same order.
//
// It never writes to the member, never judges whether traffic may move, and never keeps more of an object than it needs.
package inventory
