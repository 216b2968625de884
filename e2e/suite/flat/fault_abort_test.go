// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package flat_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/suite"
)

// abortAt drains c2 until the service is as wanted, turns round, and wants the old split back by an abort.
func abortAt(t *testing.T, at func(gs v1alpha1.GlobalService, begin time.Time) bool) {
	t.Helper()
	world.StepwiseCase(t, func(ctx context.Context, c *suite.Case) error {
		begin := time.Now()
		if err := c.Weir.BeginDrain(ctx, "c2"); err != nil {
			return err
		}
		err := c.Weir.FollowService(ctx, demo.Namespace, demo.Service, func(gs v1alpha1.GlobalService) (bool, error) {
			return at(gs, begin), nil
		})
		if err != nil {
			return err
		}
		if err := c.Weir.Undrain(ctx, "c2", func(line string) { c.Logf("%s", line) }); err != nil {
			return err
		}
		if err := c.WaitAtRest(ctx); err != nil {
			return err
		}
		gs, err := c.Echo(ctx)
		if err != nil {
			return err
		}
		for _, s := range suite.Taken(gs, begin, "Done", "c2") {
			if s.Goal == v1alpha1.GoalAbort {
				return nil
			}
		}
		return fmt.Errorf("no step Done of goal Abort was taken: %+v", suite.Taken(gs, begin, "", ""))
	})
}

func TestADrainAbortedBeforeAnyWeightMovedLeavesTheOldSplit(t *testing.T) {
	abortAt(t, func(gs v1alpha1.GlobalService, _ time.Time) bool { return gs.Spec.Record != nil })
}

func TestADrainAbortedAtHalfTheWeightsGivesTheOldSplitBack(t *testing.T) {
	abortAt(t, func(gs v1alpha1.GlobalService, _ time.Time) bool {
		w := suite.Plan(gs, "c2").Weight
		return w > 0 && w < 333
	})
}
