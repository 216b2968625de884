// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package flat_test holds the end-to-end tests on a fleet of one network. Files run in the order of their names: what wants a
// fleet without weir, the faults, and last the whole demo, which leaves a cluster without power.
package flat_test

import (
	"os"
	"testing"

	"github.com/weir-io/weir/e2e/rig"
	"github.com/weir-io/weir/e2e/suite"
)

var world = suite.New(rig.Flat)

func TestMain(m *testing.M) { os.Exit(world.Run(m)) }
