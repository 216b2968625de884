// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lookup finds where a client enters the fleet by asking DNS, as one behind a resolver does: it asks one server over
// UDP, and keeps the answer for the time that it says, and not longer.
//
// It promises that an address is never given out past its time, that an answer which is not the one that was asked for is
// none, and that a server which does not answer is an error and not the answer before.
package lookup
