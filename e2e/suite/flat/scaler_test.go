// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package flat_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/rig"
	"github.com/weir-io/weir/e2e/suite"
)

// scaler stands on the copy of the workload that weir divides. Nobody measures in the fleet, so it only keeps to its limits.
const scaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: demo}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: ` + demo.Web + `}
  minReplicas: 2
  maxReplicas: 6
`

// limitsKept is the annotation in which weir keeps an autoscaler's limits while they are lowered.
const limitsKept = "weir.io/autoscaler-limits"

// scaledDrain drains c2, by drain, with an autoscaler on the workload there, which weir has seen to own its replicas. In the drain
// the autoscaler's limits must be such that it scales nothing, and after an undrain its own again.
func scaledDrain(t *testing.T, drain func(ctx context.Context, c *suite.Case, cluster string) error) {
	t.Helper()
	c2 := world.Cluster(t, "c2")
	// Made before the workload it is seen with it; what is made later is seen within half a minute.
	const space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo, labels: {istio-injection: enabled}}\n"
	if err := c2.Apply(t.Context(), space, scaler); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c2.Delete(context.WithoutCancel(t.Context()), scaler); err != nil {
			t.Error(err)
		}
	})
	world.FederatedCase(t, func(ctx context.Context, c *suite.Case) error {
		c.Undo(func(ctx context.Context) error { return c2.Delete(ctx, scaler) })
		if err := c2.Apply(ctx, scaler); err != nil {
			return err
		}
		if err := owned(ctx, c); err != nil {
			return err
		}
		own, err := limits(ctx, c2)
		if err != nil {
			return err
		}
		if err := drain(ctx, c, c2.Name); err != nil {
			return err
		}
		if err := c.WaitSafe(ctx, c2.Name); err != nil {
			return err
		}
		if err := webHeld(ctx, c, c2.Name, 0); err != nil {
			return err
		}
		if err := lowered(ctx, c, c2); err != nil {
			return err
		}
		return givenBack(ctx, c, c2, own)
	})
}

// owned waits until weir has seen that the autoscaler owns the replicas in c2.
func owned(ctx context.Context, c *suite.Case) error {
	return c.Until(ctx, time.Minute, "the autoscaler to be seen", func(ctx context.Context) (string, error) {
		d, err := c.Weir.Workload(ctx, demo.Namespace, demo.Web)
		if err != nil {
			return "", err
		}
		for _, row := range d.Status.Clusters {
			if row.Name == "c2" && row.Autoscaler != nil {
				return "", nil
			}
		}
		return fmt.Sprintf("%+v", d.Status.Clusters), nil
	})
}

// limits reads the autoscaler of a member.
func limits(ctx context.Context, m *rig.Cluster) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	client, err := m.Client()
	if err != nil {
		return nil, err
	}
	return client.AutoscalingV2().HorizontalPodAutoscalers(demo.Namespace).Get(ctx, "web", metav1.GetOptions{})
}

// lowered wants the autoscaler's limits to be such that it scales nothing, and weir to keep what they were.
func lowered(ctx context.Context, c *suite.Case, m *rig.Cluster) error {
	now, err := limits(ctx, m)
	if err != nil {
		return err
	}
	if *now.Spec.MinReplicas != 1 || now.Spec.MaxReplicas != 1 || now.Annotations[limitsKept] == "" {
		return fmt.Errorf("in the drain its limits are %d to %d, with annotations %v", *now.Spec.MinReplicas, now.Spec.MaxReplicas, now.Annotations)
	}
	c.Logf("its limits are lowered: %s", now.Annotations[limitsKept])
	return nil
}

// givenBack undrains the autoscaler's cluster, and wants the autoscaler to have its own limits again and the cluster its replicas.
func givenBack(ctx context.Context, c *suite.Case, m *rig.Cluster, own *autoscalingv2.HorizontalPodAutoscaler) error {
	if err := c.Weir.Undrain(ctx, m.Name, func(line string) { c.Logf("%s", line) }); err != nil {
		return err
	}
	if err := c.Session.WaitDivided(ctx); err != nil {
		return err
	}
	now, err := limits(ctx, m)
	if err != nil {
		return err
	}
	if *now.Spec.MinReplicas != *own.Spec.MinReplicas || now.Spec.MaxReplicas != own.Spec.MaxReplicas || now.Annotations[limitsKept] != "" {
		return fmt.Errorf("after the undrain its limits are %d to %d, with annotations %v", *now.Spec.MinReplicas, now.Spec.MaxReplicas, now.Annotations)
	}
	return webHeld(ctx, c, m.Name, demo.WebReplicas/3)
}
