// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package flat_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weir-io/weir/e2e/suite"
)

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
