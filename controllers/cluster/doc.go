// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster admits registered members to the wire and says of each what is known of it.
//
// It promises that a member that is not registered, or no longer, has no session; and that what a member said stays in
// status when contact is lost, under conditions that then say Unknown. It moves nothing.
package cluster
