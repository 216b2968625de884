// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gateways_test

import (
	"testing"

	"github.com/weir-io/weir/e2e/demo"
)

func TestTheDemoLosesNoRequestAcrossNetworks(t *testing.T) { world.Demo(t, demo.Weir) }
