// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package gateways_test

import "testing"

// A fenced pod keeps the connections that came to it through a gateway, so that a partial shrink waits for the limit of quiet.
func TestWhatAPartialShrinkAcrossNetworksCostsAnApplicationThatExitsAtOnce(t *testing.T) {
	world.PartialShrink(t)
}
