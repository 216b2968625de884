// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli is kubectl weir: what people type to join members, drain and undrain them, and to learn where their
// traffic is, why, and what weir waits for.
//
// It promises that a command writes only what its name says, on the hub or, for join, in the member; that a long one
// says what it waits for while it waits; that interrupting one leaves weir at work (the wish stands in an object); and
// that -o json prints one document on standard output and nothing else there.
//
// It is the verb weir simulate too, which asks files instead of a hub and writes nothing.
package cli
