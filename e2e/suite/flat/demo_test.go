// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package flat_test holds the end-to-end tests on a fleet of one network. Files run in the order of their names: rules and demo
// before the faults, so that the naive run meets a fleet without weir.
package flat_test

import (
	"os"
	"testing"

	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/rig"
	"github.com/weir-io/weir/e2e/suite"
)

var world = suite.New(rig.Flat)

func TestMain(m *testing.M) { os.Exit(world.Run(m)) }

func TestWithoutWeirRequestsAreLost(t *testing.T) { world.Demo(t, demo.Naive) }

func TestTheDemoLosesNoRequest(t *testing.T) { world.Demo(t, demo.Weir) }
