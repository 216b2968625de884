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
	"github.com/weir-io/weir/e2e/rig"
	"github.com/weir-io/weir/e2e/suite"
)

// outageOfAPI is how long a member's API server is away at least.
const outageOfAPI = 5 * time.Second

// Of two members that are to get replicas one has them and the other's API server is down: no pod may leave the cluster that
// is drained. When the server is back, the drain goes on; with some pods fenced it is aborted.
func TestADrainThatAMembersAPIServerHeldUpIsAbortedWithHalfTheReplicasMoved(t *testing.T) {
	world.StepwiseFederatedCase(t, func(ctx context.Context, c *suite.Case) error {
		begin := time.Now()
		if err := c.Weir.BeginDrain(ctx, "c2"); err != nil {
			return err
		}
		first, other, err := firstToRise(ctx, c, begin)
		if err != nil {
			return err
		}
		back, err := downAPIServer(ctx, c, other)
		if err != nil {
			return err
		}
		c.Logf("%s gets replicas, the API server of %s is down", first, other)
		err = c.Throughout(ctx, outageOfAPI, func(ctx context.Context) (string, error) { return leaves(ctx, c, begin) })
		if err != nil {
			return err
		}
		if err := back(ctx); err != nil {
			return err
		}
		err = c.Weir.FollowService(ctx, demo.Namespace, demo.Web, func(gs v1alpha1.GlobalService) (bool, error) {
			return suite.In(gs, "c2").Fenced > 0, nil
		})
		if err != nil {
			return err
		}
		if err := c.Weir.Undrain(ctx, "c2", func(line string) { c.Logf("%s", line) }); err != nil {
			return err
		}
		if err := c.Session.WaitDivided(ctx); err != nil {
			return err
		}
		if err := webHeld(ctx, c, "c2", demo.WebReplicas/3); err != nil {
			return err
		}
		return aborted(ctx, c, begin)
	})
}

// firstToRise waits until one of the clusters that stay is asked for more replicas, and names it and the other.
func firstToRise(ctx context.Context, c *suite.Case, begin time.Time) (first, other string, err error) {
	err = c.Weir.FollowService(ctx, demo.Namespace, demo.Web, func(gs v1alpha1.GlobalService) (bool, error) {
		for _, s := range suite.Taken(gs, begin, "ReplicasUp", "") {
			first = s.Cluster
			return true, nil
		}
		return false, nil
	})
	other = map[string]string{"c1": "c3", "c3": "c1"}[first]
	if err == nil && other == "" {
		err = fmt.Errorf("replicas rise in %q", first)
	}
	return first, other, err
}

// downAPIServer kills a member's API server and gives what brings it back, which may be called twice.
func downAPIServer(ctx context.Context, c *suite.Case, cluster string) (back func(context.Context) error, err error) {
	m, err := c.Fleet.Cluster(cluster)
	if err != nil {
		return nil, err
	}
	down := true
	back = func(ctx context.Context) error {
		if !down {
			return nil
		}
		down = false
		return m.Start(ctx, rig.RoleAPIServer)
	}
	c.Undo(back)
	return back, m.Kill(ctx, rig.RoleAPIServer)
}

// leaves says which pods have left c2 already, of the workload that weir divides.
func leaves(ctx context.Context, c *suite.Case, begin time.Time) (string, error) {
	gs, err := c.Web(ctx)
	if err != nil {
		return "", err
	}
	for _, s := range suite.Taken(gs, begin, "", "") {
		if s.Kind == "Fence" || s.Kind == "ReplicasDown" {
			return fmt.Sprintf("step %s of %s was taken: %s", s.Kind, s.Cluster, s.Message), nil
		}
	}
	return "", nil
}

// aborted wants the abort of a drain on record, in each service.
func aborted(ctx context.Context, c *suite.Case, begin time.Time) error {
	for _, service := range []string{demo.Service, demo.Web} {
		gs, err := c.Weir.Service(ctx, demo.Namespace, service)
		if err != nil {
			return err
		}
		found := false
		for _, s := range suite.Taken(gs, begin, "Done", "c2") {
			found = found || s.Goal == v1alpha1.GoalAbort
		}
		if !found {
			return fmt.Errorf("%s: no step Done of goal Abort was taken: %+v", service, suite.Taken(gs, begin, "", ""))
		}
	}
	return nil
}
