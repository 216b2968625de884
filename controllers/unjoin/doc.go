// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unjoin lets a member go: it takes away what weir put there, and then the registration.
//
// kubectl weir unjoin puts a finalizer on the Cluster and deletes it. While that holds the Cluster, each look finds out from
// what stands which of the steps is due, and does a part of it:
//
//	Held     replicas stand there, or are planned: nothing is taken away
//	Traffic  a global service counts it still: weights that name it move first, as for every Cluster that is deleted
//	Copies   its Works are deleted, and with them the copies of federated objects
//	Routes   VirtualServices are deleted, and proxies get time to let go of them
//	Rules    subsets, exports, imports, Services that stand in, and the fence on pods
//	Drains   its ClusterDrain is deleted
//	Done     what could not be taken away stands in status for a moment; then credentials, tokens and the Cluster go
//
// # What it promises
//
//   - Nothing is kept in memory: killed at any point, it goes on where it was.
//   - What somebody else made in the member, or has made his own, is left there.
//   - A step is over only when a look found nothing more to take away.
//   - By force, for a member that is gone for good, whatever cannot be taken away is named.
//
// It never takes replicas or traffic away: it waits until there is none.
package unjoin
