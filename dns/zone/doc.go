// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zone holds the names that weir answers for: an immutable Table, made
// once from a Document, and the look-up of one question in it.
//
// Two zones can be in a table. clusterset.local has one name for each service
// of the cluster set, NAME.NS.svc.clusterset.local, with the addresses of its
// import (KEP-1645). The global zone is the user's: NAME.NS.ORIGIN, and one
// further name of the user's choice, answer with the gateway addresses of one
// cluster, drawn by weight.
//
//	Document ──Compile──▶ Table ──Lookup(Question)──▶ Answer
//	                        └── Targets: each (name, cluster) that can be answered
//
// The package promises:
//
//   - A cluster with weight 0 is in no answer, whatever is drawn.
//   - Three cases are kept apart: there is no such name (NXDOMAIN), the name has
//     nothing of this type (NODATA), and it can not be said (SERVFAIL). A name
//     with names below it exists (RFC 8020).
//   - A zone that is not synced is never a reason for NXDOMAIN: Unsynced answers
//     nothing, Stale answers what it knows, for 30 seconds at most.
//   - All records of one answer name one cluster, or none.
//   - A document with an error compiles to no table at all.
//   - Same table, same question, same draw: same answer. Nothing here reads a
//     clock or a random source, keeps a state, or knows the form of a message.
//
// It answers A and AAAA, and SOA and NS at an origin. SRV records, headless
// services and the dns-version record of the Multi-Cluster Services DNS
// specification are not served.
package zone
