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

// The workload that weir divides has every step that there is: replicas up, weights, the fence, an autoscaler's limits and
// replicas down. The application beside it is drained by the same hub.
func TestADrainLosesNothingWhileTheHubIsKilledAtEachStep(t *testing.T) {
	scaledDrain(t, func(ctx context.Context, c *suite.Case, cluster string) error {
		kinds, err := killAtEachStep(ctx, c, cluster)
		if err != nil {
			return err
		}
		for _, kind := range []string{"ReplicasUp", "Split", "Fence", "ReplicasDown", "Done"} {
			if kinds[kind] == 0 {
				return fmt.Errorf("the hub was killed at no step %s: %v", kind, kinds)
			}
		}
		return nil
	})
}

// killAtEachStep drains a cluster, kills the hub as each step of the divided workload is taken, and counts them by kind.
func killAtEachStep(ctx context.Context, c *suite.Case, cluster string) (map[string]int, error) {
	begin := time.Now()
	if err := c.Weir.BeginDrain(ctx, cluster); err != nil {
		return nil, err
	}
	killed, kinds := map[string]bool{}, map[string]int{}
	err := c.Weir.FollowService(ctx, demo.Namespace, demo.Web, func(gs v1alpha1.GlobalService) (bool, error) {
		for _, s := range suite.Taken(gs, begin, "", "") {
			// A step that is taken anew after a kill is the same step.
			key := s.Kind + ": " + s.Message
			if killed[key] {
				continue
			}
			killed[key] = true
			kinds[s.Kind]++
			c.Logf("killing the hub at step %s", key)
			if err := c.Weir.KillHub(ctx); err != nil {
				return false, err
			}
			if err := c.Weir.WaitHub(ctx); err != nil {
				return false, err
			}
		}
		return len(suite.Taken(gs, begin, "Done", cluster)) > 0, nil
	})
	return kinds, err
}

// webHeld wants a cluster to hold so many replicas of the workload that weir divides, and all of them to be ready somewhere.
func webHeld(ctx context.Context, c *suite.Case, cluster string, replicas int32) error {
	d, err := c.Weir.Workload(ctx, demo.Namespace, demo.Web)
	if err != nil {
		return err
	}
	for _, row := range d.Status.Clusters {
		if row.Name == cluster && row.Applied != replicas {
			return fmt.Errorf("%s holds %d replicas, want %d", cluster, row.Applied, replicas)
		}
	}
	if d.Status.ReadyReplicas != demo.WebReplicas {
		return fmt.Errorf("%d replicas are ready, want %d: %+v", d.Status.ReadyReplicas, demo.WebReplicas, d.Status.Clusters)
	}
	return nil
}
