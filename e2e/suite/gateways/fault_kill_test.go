// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gateways_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/suite"
)

func TestKilledPodsOfAMemberLoseNoMoreThanWhatWasInFlight(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error { return c.Session.KillPods(ctx, "c3") })
}

func TestADrainAbortedWithPodsFencedGivesTheOldSplitBackAcrossNetworks(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error {
		begin := time.Now()
		if err := c.Weir.BeginDrain(ctx, "c2"); err != nil {
			return err
		}
		err := c.Weir.FollowService(ctx, demo.Namespace, demo.Service, func(gs v1alpha1.GlobalService) (bool, error) {
			return suite.In(gs, "c2").Fenced > 0, nil
		})
		if err != nil {
			return err
		}
		if err := c.Weir.Undrain(ctx, "c2", func(line string) { c.Logf("%s", line) }); err != nil {
			return err
		}
		gs, err := c.Echo(ctx)
		if err != nil {
			return err
		}
		for _, s := range suite.Taken(gs, begin, "Done", "c2") {
			if s.Goal == v1alpha1.GoalAbort {
				return c.WaitAtRest(ctx)
			}
		}
		return fmt.Errorf("no step Done of goal Abort was taken: %+v", suite.Taken(gs, begin, "", ""))
	})
}
