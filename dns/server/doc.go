// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server answers DNS questions from a zone.Table over UDP and TCP.
//
//	socket ─▶ accept ─▶ respond ─▶ zone.Table.Lookup ─▶ ledger ─▶ socket
//	                       ▲              ▲
//	                   EDNS, size    Set swaps it, one atomic pointer
//
// The package promises:
//
//   - An answer is of one table: Set swaps the whole of it, and no question that
//     arrives after Set returned is answered from the one before.
//   - It is an authority and nothing else: it neither recurses nor forwards, and
//     names outside its zones are refused.
//   - Whatever bytes arrive, it lives on. What is no question is dropped or
//     answered with an error, never with more bytes than it may have.
//   - Each negative answer carries the SOA of its zone. An answer that is too
//     long for its client has the TC bit and no record, never a part of a set.
//   - What was answered is on record, for each name and cluster, before it leaves
//     the server, so whoever reads the record and adds some grace for the way
//     knows when caches have forgotten a cluster.
//   - Connections are bounded, in all and for one client, and so is the time that
//     each may take to ask or to read.
//   - To stop is to be not ready first, to answer on for a while, and then to
//     close.
//
// It decides about no name, reads no file, and writes to no cluster.
package server
