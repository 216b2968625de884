// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package flat_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/demo/product"
	"github.com/weir-io/weir/e2e/suite"
)

// Rounds of the test, each a move and the way back, and how long one of both may take.
const (
	agentRounds = 1
	movedLimit  = 2 * time.Minute
)

// A prover that begins anew has seen no push. Replicas go all the same, after the plan was written anew once or twice.
func TestAMoveEndsThoughTheAgentsAreKilledAtEachFence(t *testing.T) {
	world.FederatedCase(t, func(ctx context.Context, c *suite.Case) error {
		c.Undo(func(ctx context.Context) error { return c.Weir.Scale(ctx, demo.Namespace, demo.Web, demo.WebReplicas) })
		for range agentRounds {
			for _, replicas := range []int{demo.WebReplicas * 2 / 3, demo.WebReplicas} {
				if err := scaleAndKillAgents(ctx, c, replicas); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// scaleAndKillAgents asks for another number of replicas, and kills all agents each time that the fence is written.
func scaleAndKillAgents(ctx context.Context, c *suite.Case, replicas int) error {
	begin := time.Now()
	if err := c.Weir.Scale(ctx, demo.Namespace, demo.Web, replicas); err != nil {
		return err
	}
	killed := map[time.Time]bool{}
	renewed := map[time.Time]bool{}
	err := c.Until(ctx, movedLimit, fmt.Sprintf("%d replicas", replicas), func(ctx context.Context) (string, error) {
		gs, err := c.Web(ctx)
		if err != nil {
			return "", err
		}
		for _, s := range suite.Taken(gs, begin, "Renew", "") {
			renewed[s.StartedAt.Time] = true
		}
		for _, s := range suite.Taken(gs, begin, "Fence", "") {
			if killed[s.StartedAt.Time] {
				continue
			}
			killed[s.StartedAt.Time] = true
			if err := killAgents(ctx, c, s); err != nil {
				return "", err
			}
		}
		d, err := c.Weir.Workload(ctx, demo.Namespace, demo.Web)
		if err != nil {
			return "", err
		}
		if d.Status.Replicas != int32(replicas) {
			return fmt.Sprintf("%d replicas are asked for", d.Status.Replicas), nil
		}
		return product.Undivided(d, gs), nil
	})
	c.Logf("%d replicas after %s: the agents were killed %d times, the plan was written anew %d times",
		replicas, time.Since(begin).Round(time.Second), len(killed), len(renewed))
	return err
}

func killAgents(ctx context.Context, c *suite.Case, s v1alpha1.StepRecord) error {
	c.Logf("killing the agents at step %s: %s", s.Kind, s.Message)
	for _, m := range c.Fleet.Members() {
		if _, err := m.KillPods(ctx, product.Namespace, "app.kubernetes.io/instance=weir-agent"); err != nil {
			return err
		}
	}
	return nil
}
