// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reason names why a cluster gets no replicas, or fewer than its share.
//
// A code is for programs and never changes its meaning; a message is for people. Messages name amounts and rules, never
// nodes or times, so that the same state gives the same text.
package reason
