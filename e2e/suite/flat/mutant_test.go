// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package flat_test

import (
	"context"
	"net"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/rig"
	"github.com/weir-io/weir/e2e/rig/netns"
	"github.com/weir-io/weir/e2e/suite"
)

// outage is what clients send at a cluster that has no power: 60 requests in 6 seconds.
func outage(from netns.Space, url, host string) suite.Burst {
	return suite.Burst{From: from, URL: url, Host: host, Requests: 60, Every: 100 * time.Millisecond}
}

// A client whose sidecar hears of no change still follows the old weights. Without proofs, the shift goes on without it, and
// what it sends is too sparse for anybody to see it arrive.
func TestABuildThatSkipsProofsLosesTheRequestsOfASidecarThatLags(t *testing.T) {
	world.Mutant(t, "mutant_skipproof", func(ctx context.Context, c *suite.Case) (int, error) {
		pod, release, err := hold(ctx, c)
		if err != nil {
			return 0, err
		}
		c1, err := c.Fleet.Cluster("c1")
		if err != nil {
			return 0, err
		}
		space, err := c1.PodSpace(demo.Namespace, pod)
		if err != nil {
			return 0, err
		}
		url, host, err := service(ctx, c1)
		if err != nil {
			return 0, err
		}
		lost, err := drainAndLose(ctx, c, outage(space, url, host))
		if err != nil {
			return 0, err
		}
		return lost, release()
	})
}

// An ingress gateway that is bound by a user's own VirtualService follows no weights. Without the fence it still sends to the
// drained cluster, too seldom for anybody to see it.
func TestABuildThatSkipsTheFenceLosesTheRequestsOfAnIngressGateway(t *testing.T) {
	world.Mutant(t, "mutant_skipfence", func(ctx context.Context, c *suite.Case) (int, error) {
		c1, err := c.Fleet.Cluster("c1")
		if err != nil {
			return 0, err
		}
		return drainAndLose(ctx, c, outage(c.Fleet.OutsideSpace(), "http://"+c1.IngressIP(), demo.Host))
	})
}

// A caller without a sidecar that knows a pod's address is told of nothing. Without waiting for quiet, its pod is taken away
// under it.
func TestABuildThatSkipsQuietLosesTheRequestsOfACallerWithoutASidecar(t *testing.T) {
	world.Mutant(t, "mutant_skipquiet", func(ctx context.Context, c *suite.Case) (int, error) {
		c1, err := c.Fleet.Cluster("c1")
		if err != nil {
			return 0, err
		}
		c2, err := c.Fleet.Cluster("c2")
		if err != nil {
			return 0, err
		}
		pods, err := c.Session.Pods(ctx, c2)
		if err != nil {
			return 0, err
		}
		url := "http://" + net.JoinHostPort(pods[0].Status.PodIP, "8080")
		from := netns.Space{Name: c1.Namespace()}
		calling, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			// What this one loses is not counted: its last request is cut off by the test itself.
			_, _ = suite.Burst{From: from, URL: url, Requests: 1500, Every: 200 * time.Millisecond}.Send(calling)
		}()
		defer func() {
			stop()
			<-ended
		}()
		return drainAndLose(ctx, c, outage(from, url, ""))
	})
}

// drainAndLose drains c2, takes its power as soon as weir says that it may be switched off, and has clients call meanwhile.
func drainAndLose(ctx context.Context, c *suite.Case, calls suite.Burst) (lost int, err error) {
	if err := c.Weir.BeginDrain(ctx, "c2"); err != nil {
		return 0, err
	}
	if err := c.WaitSafe(ctx, "c2"); err != nil {
		return 0, err
	}
	err = c.LosePower(ctx, "c2", func(ctx context.Context) error {
		var err error
		lost, err = calls.Send(ctx)
		return err
	})
	return lost, err
}

// service gives the URL by which a cluster's pods call the application, and its name.
func service(ctx context.Context, m *rig.Cluster) (url, host string, err error) {
	client, err := m.Client()
	if err != nil {
		return "", "", err
	}
	s, err := client.CoreV1().Services(demo.Namespace).Get(ctx, demo.Service, metav1.GetOptions{})
	if err != nil {
		return "", "", err
	}
	return "http://" + net.JoinHostPort(s.Spec.ClusterIP, "8080"), demo.Service + "." + demo.Namespace + ".svc.cluster.local:8080", nil
}
