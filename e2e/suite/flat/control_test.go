// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package flat_test

import (
	"testing"

	"github.com/weir-io/weir/e2e/demo"
)

// The demo with weir ends with a control of its own, a power-off without a drain. This one takes the cluster away in both ways
// that people do, on a fleet without weir.
func TestWithoutWeirRequestsAreLost(t *testing.T) { world.Demo(t, demo.Naive) }
