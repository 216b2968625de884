// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package gateways_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/suite"
)

// Rounds of the test, and how long the pods that take over may need.
const (
	evictions  = 12
	evictLimit = 2 * time.Minute
)

// Weir has no hand in an eviction: what saves requests is the application, which serves on until nothing comes, and that no
// connection through the gateway outlives that.
func TestPodsThatSomebodyEvictsLoseNothingAcrossNetworks(t *testing.T) {
	world.FederatedCase(t, func(ctx context.Context, c *suite.Case) error {
		c3, err := c.Fleet.Cluster("c3")
		if err != nil {
			return err
		}
		for range evictions {
			pods, err := c3.Evict(ctx, demo.Namespace, "app="+demo.Web, 2)
			if err != nil {
				return err
			}
			c.Logf("evicted: %s", strings.Join(pods, ", "))
			if err := c3.WaitPodsReady(ctx, demo.Namespace, "app="+demo.Web, demo.WebReplicas/3, evictLimit); err != nil {
				return err
			}
		}
		return nil
	})
}
