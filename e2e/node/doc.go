// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package node pins the programs that make a node of the rig, in a module of its own.
package node
