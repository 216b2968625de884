// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generator sends the load: an open loop that keeps to its schedule
// whatever becomes of the requests.
//
// It promises that a request is sent once and never again, by nothing in this
// process: it drives single client connections, since a pooling HTTP client
// quietly repeats what failed on a connection it had used before. Each request
// is on record before it is sent and again when its fate is known, so that even
// a killed generator leaves a full account. It measures its own lateness and
// says when the machine was too busy for the run to mean anything.
//
// It never waits for an answer before it sends the next request, and never
// slows down to suit a server.
package generator
