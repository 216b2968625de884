// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gateways_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/suite"
)

// The clusters are those of weir's subsets, and the one of who follows no weights.
func TestARealProxyClosesWhatIdlesToAServiceOfOtherNetworks(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error {
		c1, err := c.Fleet.Cluster("c1")
		if err != nil {
			return err
		}
		kept, err := c.IdleTimeouts(ctx, c1, demo.Service)
		if err != nil {
			return err
		}
		for name, timeout := range kept {
			if timeout != "5s" {
				err = fmt.Errorf("the proxy keeps what idles in %s for %q, want 5s", name, timeout)
			}
		}
		if want := len(c.Fleet.Members()) + 1; len(kept) != want {
			return fmt.Errorf("the proxy knows %d clusters of the service, want %d: %v", len(kept), want, kept)
		}
		return err
	})
}
