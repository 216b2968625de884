// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gateways_test holds the end-to-end tests on a fleet with a network for each member.
package gateways_test

import (
	"os"
	"testing"

	"github.com/weir-io/weir/e2e/rig"
	"github.com/weir-io/weir/e2e/suite"
)

var world = suite.New(rig.Gateways)

func TestMain(m *testing.M) { os.Exit(world.Run(m)) }
