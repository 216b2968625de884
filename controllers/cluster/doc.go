// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster admits registered members to the wire and says of each what is known of it.
//
// It promises that a member that is not registered, or no longer, has no session; and that what a member said, the view of
// its nodes too, stays in status when contact is lost, under conditions that then say Unknown and of when it is. Status is
// written when a condition turns, and else seldom: beats and pods that come and go are not worth a write each. It moves
// nothing, whatever it holds a member for.
package cluster
