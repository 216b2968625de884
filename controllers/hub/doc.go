// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hub is what weir's controllers on the hub have in common. They write objects by server-side apply, each under a
// field manager of its own, and never over another's fields; Changes wakes them when something is heard of a
// member, and Pass those that look at everything at once.
//
// It promises that a write of a spec goes on top of the version that was read (a conflict otherwise), and that a write
// of a status holds only what its manager owns. It decides nothing.
package hub
