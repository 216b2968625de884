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

func TestADrainLowersAnAutoscalersLimitsAndAnUndrainGivesThemBack(t *testing.T) {
	// Before the workload it is seen with it; what is made later is seen within half a minute.
	if err := world.Cluster(t, "c2").Apply(t.Context(), "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo, labels: {istio-injection: enabled}}\n", scaler); err != nil {
		t.Fatal(err)
	}
	world.FederatedCase(t, func(ctx context.Context, c *suite.Case) error {
		c2, err := c.Fleet.Cluster("c2")
		if err != nil {
			return err
		}
		c.Undo(func(ctx context.Context) error { return c2.Delete(ctx, scaler) })
		if err := c2.Apply(ctx, scaler); err != nil {
			return err
		}
		if err := owned(ctx, c); err != nil {
			return err
		}
		before, err := limits(ctx, c2)
		if err != nil {
			return err
		}
		if err := c.Weir.Drain(ctx, "c2", func(line string) { c.Logf("%s", line) }); err != nil {
			return err
		}
		if err := c.WaitSafe(ctx, "c2"); err != nil {
			return err
		}
		if err := webHeld(ctx, c, "c2", 0); err != nil {
			return err
		}
		now, err := limits(ctx, c2)
		if err != nil {
			return err
		}
		if *now.Spec.MinReplicas != 1 || now.Spec.MaxReplicas != 1 || now.Annotations[limitsKept] == "" {
			return fmt.Errorf("in the drain its limits are %d to %d, with annotations %v", *now.Spec.MinReplicas, now.Spec.MaxReplicas, now.Annotations)
		}
		c.Logf("its limits are lowered: %s", now.Annotations[limitsKept])
		if err := c.Weir.Undrain(ctx, "c2", func(line string) { c.Logf("%s", line) }); err != nil {
			return err
		}
		if err := c.Session.WaitDivided(ctx); err != nil {
			return err
		}
		now, err = limits(ctx, c2)
		if err != nil {
			return err
		}
		if *now.Spec.MinReplicas != *before.Spec.MinReplicas || now.Spec.MaxReplicas != before.Spec.MaxReplicas || now.Annotations[limitsKept] != "" {
			return fmt.Errorf("after the undrain its limits are %d to %d, with annotations %v", *now.Spec.MinReplicas, now.Spec.MaxReplicas, now.Annotations)
		}
		return webHeld(ctx, c, "c2", demo.WebReplicas/3)
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
