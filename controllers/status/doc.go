// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status sums up what became of each FederatedDeployment, from its ResourceBinding.
//
// It promises that the sums hold only what the lines hold; that what a member said last is counted on while nobody sees it,
// under conditions that then say Unknown; and that a template or an override that cannot be read is told to its author. It
// changes nothing but status.
package status
