// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulate answers what-if questions: where would the replicas of these workloads go, on these clusters?
//
// [Run] takes the objects that a fleet is described by and decides each FederatedDeployment as the hub would, through the
// same adapter and the same core, in one batch. What a ResourceBinding has decided is what stands, and is taken to be in
// the views already. It asks no cluster, and the same objects give the same answer in whatever order they come.
package simulate
