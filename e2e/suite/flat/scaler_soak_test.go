// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package flat_test

import (
	"context"
	"testing"

	"github.com/weir-io/weir/e2e/suite"
)

// In make test the same drain has the hub killed at each of its steps.
func TestADrainLowersAnAutoscalersLimitsAndAnUndrainGivesThemBack(t *testing.T) {
	scaledDrain(t, func(ctx context.Context, c *suite.Case, cluster string) error {
		return c.Weir.Drain(ctx, cluster, func(line string) { c.Logf("%s", line) })
	})
}
