// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane pins the versions of the control planes that the rig runs, in a module of its own: they share
// their dependencies at these versions, and none of them reaches weir's own go.mod.
package controlplane
