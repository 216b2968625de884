// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package binding turns what users want of federated workloads into wishes that the scheduler reads.
//
// For each FederatedDeployment it keeps the wish part of one ResourceBinding: replicas, what a pod needs, placement, pins,
// and the ReplicaSchedulingPreference in force. Of each preference it says whether it is the one.
//
// It promises that
//   - a template or an override that cannot be read changes nothing: the wish before it stands, and what stands in
//     members with it;
//   - the binding belongs to its FederatedDeployment and goes with it;
//   - nothing is written that stands already.
//
// It never decides where replicas go, and never writes the decision or the plan.
package binding
