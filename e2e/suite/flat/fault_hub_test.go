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

func TestADrainLosesNothingWhileTheHubIsKilledAtEachStep(t *testing.T) {
	world.StepwiseCase(t, func(ctx context.Context, c *suite.Case) error {
		begin := time.Now()
		if err := c.Weir.BeginDrain(ctx, "c2"); err != nil {
			return err
		}
		killed := map[string]bool{}
		err := c.Weir.FollowService(ctx, demo.Namespace, demo.Service, func(gs v1alpha1.GlobalService) (bool, error) {
			for _, s := range suite.Taken(gs, begin, "", "") {
				// A step that is taken anew after a kill is the same step.
				key := s.Kind + ": " + s.Message
				if killed[key] {
					continue
				}
				killed[key] = true
				c.Logf("killing the hub at step %s", key)
				if err := c.Weir.KillHub(ctx); err != nil {
					return false, err
				}
				if err := c.Weir.WaitHub(ctx); err != nil {
					return false, err
				}
			}
			return len(suite.Taken(gs, begin, "Done", "c2")) > 0, nil
		})
		if err != nil {
			return err
		}
		if len(killed) < 4 {
			return fmt.Errorf("the hub was killed at %d steps, want those of the weights, the fence and the end: %v", len(killed), killed)
		}
		return c.WaitSafe(ctx, "c2")
	})
}

func TestTrafficGoesOnWithoutTheHub(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error {
		c.Undo(func(ctx context.Context) error {
			if err := c.Weir.StartHub(ctx); err != nil {
				return err
			}
			for _, m := range c.Fleet.Members() {
				if err := c.Weir.WaitMember(ctx, m.Name, 90*time.Second); err != nil {
					return err
				}
			}
			return nil
		})
		if err := c.Weir.StopHub(ctx); err != nil {
			return err
		}
		begin := time.Now()
		// A deployment of new pods under the load is what an ordinary day brings.
		if err := c.Session.Restart(ctx, "c2"); err != nil {
			return err
		}
		err := c.Throughout(ctx, 10*time.Second, func(context.Context) (string, error) { return "", nil })
		if err != nil {
			return err
		}
		arrivals, err := c.Session.Arrivals(begin, time.Now())
		if err != nil {
			return err
		}
		for _, m := range c.Fleet.Members() {
			if arrivals[m.Name] == 0 {
				return fmt.Errorf("nothing arrived in %s while the hub was gone: %v", m.Name, arrivals)
			}
		}
		return nil
	})
}
