// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package score turns what people prefer and what is known of a cluster into the numbers that a division is made with:
// weights, and how much of the room that a view shows is to be believed.
//
// All are whole numbers. A score never closes a cluster and never takes a replica away; that is for filter and divide.
package score
