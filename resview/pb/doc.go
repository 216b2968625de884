// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pb holds the messages of the wire between agent and hub, generated from link.proto. It holds no logic;
// what a message may contain and what is refused is decided where it is read, in resview/stream.
package pb
