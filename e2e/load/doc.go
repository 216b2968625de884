// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load holds what a load run is made of and what it proves: the
// schedule of requests, the records a client keeps of them, the ledger a
// server keeps, and the account that settles one against the other.
//
// It promises that an account adds up to the request: every request that was
// sent is exactly one of answered, lost, or in flight at a kill. What no record
// explains is lost; doubt never makes a run look better.
//
// The package is pure. It opens no file or socket and reads no clock: times are
// nanoseconds since the Unix epoch, handed in by the caller. The programs that
// send, serve and write live in the packages below it (generator, echo,
// journal).
//
// It never decides whether a run passed. It counts; the demo and the tests
// judge.
package load
