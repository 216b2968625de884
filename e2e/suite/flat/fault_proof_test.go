// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package flat_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/rig"
	"github.com/weir-io/weir/e2e/suite"
	"github.com/weir-io/weir/mesh/istio"
)

// namedWithin is how soon a proxy that lags must be named after the write that it lags behind.
const namedWithin = 5 * time.Second

// hold holds the agent of the client in c1 until release is called, or the case ends.
func hold(ctx context.Context, c *suite.Case) (pod string, release func() error, err error) {
	c1, err := c.Fleet.Cluster("c1")
	if err != nil {
		return "", nil, err
	}
	if pod, err = c.Session.Client(ctx, c1); err != nil {
		return "", nil, err
	}
	release = func() error { return c1.ReleaseAgent(demo.Namespace, pod) }
	c.Undo(func(context.Context) error { return release() })
	return pod, release, c1.HoldAgent(demo.Namespace, pod)
}

func TestAHeldSidecarIsNamedAndNothingIsFencedUntilItGoesOn(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error {
		pod, release, err := hold(ctx, c)
		if err != nil {
			return err
		}
		begin := time.Now()
		if err := c.Weir.BeginDrain(ctx, "c2"); err != nil {
			return err
		}
		gs, err := c.WaitStep(ctx, begin, "Split", "")
		if err != nil {
			return err
		}
		written, err := waitWritten(ctx, c, "c1", gs.Spec.Generation)
		if err != nil {
			return err
		}
		if _, err := c.WaitBlocked(ctx, 30*time.Second, "WeightsUnproven", pod); err != nil {
			return err
		}
		took := time.Since(written)
		c.Logf("%s was named %s after the write", pod, took.Round(time.Millisecond))
		err = c.Throughout(ctx, heldFor, func(ctx context.Context) (string, error) { return unfenced(ctx, c, "c2") })
		if err != nil {
			return err
		}
		if err := release(); err != nil {
			return err
		}
		if err := c.WaitSafe(ctx, "c2"); err != nil {
			return err
		}
		if took > namedWithin {
			return fmt.Errorf("%s was named only after %s", pod, took)
		}
		return nil
	})
}

// waitWritten waits until weights of a generation, or of a later one, stand in a member, and returns when that was seen.
func waitWritten(ctx context.Context, c *suite.Case, cluster string, generation int64) (time.Time, error) {
	m, err := c.Fleet.Cluster(cluster)
	if err != nil {
		return time.Time{}, err
	}
	client, err := m.Dynamic()
	if err != nil {
		return time.Time{}, err
	}
	err = c.Until(ctx, 30*time.Second, "the weights in "+cluster, func(ctx context.Context) (string, error) {
		o, err := client.Resource(virtualServices).Namespace(demo.Namespace).Get(ctx, istio.ObjectName(demo.Service, false), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "there are none", nil
		}
		if err != nil {
			return "", fmt.Errorf("cluster %q: read weir's VirtualService: %w", cluster, err)
		}
		stands, err := strconv.ParseInt(o.GetLabels()[istio.LabelGeneration], 10, 64)
		if err != nil {
			return "", fmt.Errorf("cluster %q: generation of weir's VirtualService: %w", cluster, err)
		}
		if stands < generation {
			return fmt.Sprintf("they are of generation %d, want %d", stands, generation), nil
		}
		return "", nil
	})
	return time.Now(), err
}

func TestAHeldSidecarIsLeftBehindAfterTheProxyTimeoutAndThatIsSaid(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error {
		_, release, err := hold(ctx, c)
		if err != nil {
			return err
		}
		begin := time.Now()
		if err := c.Weir.BeginDrain(ctx, "c2", "--proxy-timeout=6s", "--quiet-timeout=5s"); err != nil {
			return err
		}
		gs, err := c.WaitStep(ctx, begin, "Fence", "c2")
		if err != nil {
			return err
		}
		step := suite.Taken(gs, begin, "Fence", "c2")[0]
		if step.Weights == nil || step.Weights.Level != v1alpha1.ProofTimed {
			return fmt.Errorf("the fence rests on weights %+v, want level Timed", step.Weights)
		}
		if err := c.WaitShifted(ctx, "c2"); err != nil {
			return err
		}
		d, err := c.Weir.DrainOf(ctx, "c2")
		if err != nil {
			return err
		}
		if suite.Safe(d) {
			return fmt.Errorf("safe to power off while the held sidecar still calls: %+v", d.Status)
		}
		if err := release(); err != nil {
			return err
		}
		return c.WaitSafe(ctx, "c2")
	})
}

// scaleIstiod sets the replicas of a member's istiod, and back to one when the case ends.
func scaleIstiod(ctx context.Context, c *suite.Case, m *rig.Cluster, n int) error {
	scale := func(ctx context.Context, n int) error {
		client, err := m.Client()
		if err != nil {
			return err
		}
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)
		_, err = client.AppsV1().Deployments("istio-system").Patch(ctx, "istiod", types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return fmt.Errorf("cluster %q: scale istiod: %w", m.Name, err)
		}
		return m.WaitPodsReady(ctx, "istio-system", "app=istiod", n, 2*time.Minute)
	}
	c.Undo(func(ctx context.Context) error { return scale(ctx, 1) })
	return scale(ctx, n)
}

func TestAStaleReplicaOfIstiodHoldsTheShiftUpAndIsNamed(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error {
		c1, err := c.Fleet.Cluster("c1")
		if err != nil {
			return err
		}
		if err := scaleIstiod(ctx, c, c1, 2); err != nil {
			return err
		}
		client, err := c1.Client()
		if err != nil {
			return err
		}
		pods, err := client.CoreV1().Pods("istio-system").List(ctx, metav1.ListOptions{LabelSelector: "app=istiod"})
		if err != nil {
			return err
		}
		// The younger has no proxies yet; it may get some at any time, and they would hold what it serves.
		stale := slices.MaxFunc(pods.Items, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) }).Name
		if err := c.WaitAtRest(ctx); err != nil {
			return err
		}
		c.Undo(func(context.Context) error { return c1.ReleaseIstiod(stale) })
		if err := c1.HoldIstiod(stale); err != nil {
			return err
		}
		if err := c.Weir.BeginDrain(ctx, "c2"); err != nil {
			return err
		}
		b, err := c.WaitBlocked(ctx, 40*time.Second, "WeightsUnproven", stale)
		if err != nil {
			return err
		}
		c.Logf("%s", b.Message)
		err = c.Throughout(ctx, 5*time.Second, func(ctx context.Context) (string, error) { return unfenced(ctx, c, "c2") })
		if err != nil {
			return err
		}
		if err := c1.ReleaseIstiod(stale); err != nil {
			return err
		}
		return c.WaitSafe(ctx, "c2")
	})
}

func TestAMemberWithoutAnIstiodHoldsTheShiftUpWithTheReason(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error {
		c3, err := c.Fleet.Cluster("c3")
		if err != nil {
			return err
		}
		if err := scaleIstiod(ctx, c, c3, 0); err != nil {
			return err
		}
		if err := c.Weir.BeginDrain(ctx, "c2"); err != nil {
			return err
		}
		b, err := c.WaitBlocked(ctx, 40*time.Second, "WeightsUnproven", "c3")
		if err != nil {
			return err
		}
		c.Logf("%s", b.Message)
		err = c.Throughout(ctx, 5*time.Second, func(ctx context.Context) (string, error) { return unfenced(ctx, c, "c2") })
		if err != nil {
			return err
		}
		if err := scaleIstiod(ctx, c, c3, 1); err != nil {
			return err
		}
		return c.WaitSafe(ctx, "c2")
	})
}

// unfenced says in what way a drain has gone further than its weights.
func unfenced(ctx context.Context, c *suite.Case, cluster string) (string, error) {
	gs, err := c.Echo(ctx)
	if err != nil {
		return "", err
	}
	d, err := c.Weir.DrainOf(ctx, cluster)
	if err != nil {
		return "", err
	}
	if p := suite.Plan(gs, cluster); p.FencedPods > 0 || p.NewPods == v1alpha1.PodsFenced || suite.In(gs, cluster).Fenced > 0 {
		return "pods are fenced", nil
	}
	if suite.Safe(d) {
		return "it says safe to power off", nil
	}
	return "", nil
}
