// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package flat_test

import (
	"context"
	"testing"

	"github.com/weir-io/weir/e2e/rig"
	"github.com/weir-io/weir/e2e/suite"
)

// In make test the same drain has the hub killed at each of its steps.
func TestADrainLowersAnAutoscalersLimitsAndAnUndrainGivesThemBack(t *testing.T) {
	scaledCase(t, func(ctx context.Context, c *suite.Case, m *rig.Cluster) error {
		own, err := limits(ctx, m)
		if err != nil {
			return err
		}
		if err := c.Weir.Drain(ctx, m.Name, func(line string) { c.Logf("%s", line) }); err != nil {
			return err
		}
		if err := c.WaitSafe(ctx, m.Name); err != nil {
			return err
		}
		if err := webHeld(ctx, c, m.Name, 0); err != nil {
			return err
		}
		if err := lowered(ctx, c, m); err != nil {
			return err
		}
		return givenBack(ctx, c, m, own)
	})
}
