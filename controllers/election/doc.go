// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package election says which process leads the hub, and gives each leader its number.
//
// A Lock is client-go's Lease, with one more rule: a lease whose holder is a pod that is no more is free at once. So a hub
// that was killed is back as soon as its pod is: in the same pod it finds its own lease, and a new pod need not wait for the
// lease of one that was deleted. A pod that is no more cannot renew, nor write on the hub: its token ended with it. What it
// had under way in members is refused there by its epoch.
//
// A Record gives epochs: each is given once on a hub, whatever leaders believe.
//
// A lease alone fences nothing: a leader that was paused may go on for a moment after it ended. What keeps members from it is
// the epoch, which controllers/member writes, and what keeps the hub from it is that a process which loses the lease ends.
package election
