// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recorder watches the nodes and pods of a member and makes numbered events of what happens to them: which node
// came, changed or went, and which pod takes its requests on a node or gives them back.
//
// Promises:
//   - The nodes as they are (Snapshot) and the events after that (After) tell the same, whenever one looks: both come from
//     one view.Book, which the events changed before anybody could read them.
//   - A pod counts once, from when it has a node until it is done or gone, with the requests that Kubernetes' own
//     scheduler counts: of its containers, of those that start first or stay beside them, of the pod as a whole, and what
//     its runtime costs.
//   - A cordoned node is told as deleted, and as added again when it takes pods again.
//   - Nothing is told before nodes and pods have been listed once. Numbers begin anew with each process, and so does the
//     hub's view: an agent that was killed tells a snapshot.
//   - What it tells is within the bounds of package view. A node that is not, is left out and named in the log.
//   - Events are kept until they are acknowledged, or until there are too many of them: then After says so, and a snapshot
//     is the way on.
//
// It keeps events in memory only, and of a pod no more than its requests. It writes nothing, and knows nothing of the hub.
package recorder
