// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gateways_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/rig"
	"github.com/weir-io/weir/e2e/suite"
)

// heldFor is how long one istiod knows nothing of the fence.
const heldFor = 10 * time.Second

// A fence across networks is two pushes by two istiods: the gateway of the fenced cluster loses its pods, and clients elsewhere
// lose that gateway. While one istiod is held, its clients still go through a gateway behind which nobody is left; a new
// connection there is refused before any request is sent, so that another cluster answers it, and no POST runs twice.
func TestNoPostIsLostOrRepeatedWhileTheLastPodsAreFencedAndAnIstiodIsHeld(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error {
		c1, err := c.Fleet.Cluster("c1")
		if err != nil {
			return err
		}
		pod, err := istiod(ctx, c1)
		if err != nil {
			return err
		}
		c.Undo(func(context.Context) error { return c1.ReleaseIstiod(pod) })
		begin := time.Now()
		if err := c.Weir.BeginDrain(ctx, "c2"); err != nil {
			return err
		}
		err = c.Weir.FollowService(ctx, demo.Namespace, demo.Service, func(gs v1alpha1.GlobalService) (bool, error) {
			if suite.Plan(gs, "c2").FencedPods < demo.Replicas {
				return false, nil
			}
			return true, c1.HoldIstiod(pod)
		})
		if err != nil {
			return err
		}
		err = c.Throughout(ctx, heldFor, func(ctx context.Context) (string, error) {
			d, err := c.Weir.DrainOf(ctx, "c2")
			if err == nil && suite.Safe(d) {
				return "it says safe to power off", nil
			}
			return "", err
		})
		if err != nil {
			return err
		}
		gs, err := c.Echo(ctx)
		if err != nil {
			return err
		}
		if n := suite.In(gs, "c2").Fenced; n != demo.Replicas {
			return fmt.Errorf("%d pods of c2 are fenced, want %d: %+v", n, demo.Replicas, suite.Taken(gs, begin, "", ""))
		}
		if err := c1.ReleaseIstiod(pod); err != nil {
			return err
		}
		return c.WaitSafe(ctx, "c2")
	})
}

// istiod names the one replica of a member's istiod.
func istiod(ctx context.Context, m *rig.Cluster) (string, error) {
	client, err := m.Client()
	if err != nil {
		return "", err
	}
	pods, err := client.CoreV1().Pods("istio-system").List(ctx, metav1.ListOptions{LabelSelector: "app=istiod"})
	if err != nil {
		return "", err
	}
	if len(pods.Items) != 1 {
		return "", fmt.Errorf("cluster %q: %d istiods, want 1", m.Name, len(pods.Items))
	}
	return pods.Items[0].Name, nil
}
