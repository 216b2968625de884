// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fit counts how many pods of a kind fit on the nodes of a cluster.
//
// It counts on shapes, nodes that are alike in labels, taints and what is free, and never on sums: ten free cores in ten
// pieces hold no pod that needs four. A [Catalogue] turns the nodes of a fleet into a [Room] for each cluster, once; a
// [Seeker], made for one kind of pod, then counts in any of them, takes places away, and explains why nothing fits.
//
// Of a pod it honours: what it requests in any resource, its place in the pod count of a node, its node selector and
// required node affinity, its tolerations, and that no two of it share a node (host ports, anti-affinity to itself by
// node). It does not honour preferences, affinity to other pods, topology spread, and volumes; those are the member's own
// scheduler's, and a pod that it cannot place shows as one that waits.
//
// A place taken is taken from the node that could hold most of its kind, as the scheduler of Kubernetes does by default;
// where it ends up in truth the next view tells.
package fit
