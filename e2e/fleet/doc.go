// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet holds the tests of the rig itself on a running fleet: that its parts are real, that a fault does what its verb
// says and no more, and that nothing stays behind.
//
// The tests join the fleet that runs, or start one and end it. They need Linux and root, as the rig does.
package fleet
