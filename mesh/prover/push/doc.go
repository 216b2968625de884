// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package push reads the versions that istiod gives to its pushes.
//
// Each push of configuration has a version, written as the time of the push in
// RFC 3339, a slash and a counter that only grows within one istiod process.
// The nonce of an answer is that version followed, without any separator, by a
// UUID of 36 characters. Counters of two processes, a replica before and after
// a restart among them, can not be compared; keeping them apart is the
// caller's part.
//
// Up to Istio 1.30 a push of endpoints alone keeps the counter of the push
// before it, so that equal counters do not mean equal endpoints there.
package push
