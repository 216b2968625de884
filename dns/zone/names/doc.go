// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names decides which names there are, which clusters each may name,
// and whether a name may still be in a cache.
//
// Plan makes the document of a table out of what the hub knows: the services,
// where each may be entered, and what users wished for. StandingOf reads what
// the servers report and says how a cluster stands in the answers.
//
//	Fleet ──Plan──▶ zone.Document, []Reason
//	zone.Report… ──StandingOf──▶ Named, Cached, Expired or Unused
//
// The package promises:
//
//   - A cluster that is withdrawn or leaves has weight 0 in the document,
//     whatever its weight was.
//   - What one user wishes takes no name from another: a host name that two ask
//     for goes to the one that holds it, else to the first by namespace and name,
//     and the other is told.
//   - A wish that can not be served costs the wish alone; the service keeps its
//     other names. Every document compiles.
//   - The order of the input changes nothing.
//   - A server that has not taken the table in which a cluster is withdrawn, or
//     that was not heard, is one that still names it.
//
// It decides no weight, and never that a cluster leaves: that is the shift's.
package names
