// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package flat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/suite"
)

// only is a service that no cluster but one has.
const only = `apiVersion: v1
kind: Service
metadata: {name: only, namespace: demo, annotations: {weir.io/global: "true"}}
spec:
  selector: {app: only}
  ports: [{name: http, port: 8080, targetPort: 8080, appProtocol: http}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: only, namespace: demo}
spec:
  replicas: 1
  selector: {matchLabels: {app: only}}
  template:
    metadata: {labels: {app: only}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: only
        image: weir.test/app:1
        imagePullPolicy: Never
        args: [serve, --ledger=/tmp, --cluster=c2]
        env: [{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
        volumeMounts: [{name: tmp, mountPath: /tmp}]
      volumes: [{name: tmp, emptyDir: {}}]
`

// deployOnly puts the service into c2 and waits until weir knows its pod.
func deployOnly(ctx context.Context, c *suite.Case) error {
	c2, err := c.Fleet.Cluster("c2")
	if err != nil {
		return err
	}
	c.Undo(func(ctx context.Context) error { return c2.Delete(ctx, only) })
	if err := c2.Apply(ctx, only); err != nil {
		return err
	}
	return c.Until(ctx, time.Minute, "weir to know the service", func(ctx context.Context) (string, error) {
		gs, err := c.Weir.Service(ctx, demo.Namespace, "only")
		if err != nil || suite.In(gs, "c2").Ready == 0 {
			return fmt.Sprintf("its pod is not known ready: %v", err), nil
		}
		return "", nil
	})
}

func TestTheLastCopyOfAServiceIsNeverTaken(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error {
		if err := deployOnly(ctx, c); err != nil {
			return err
		}
		begin := time.Now()
		err := c.Weir.Drain(ctx, "c2", func(string) {})
		if err == nil || !strings.Contains(err.Error(), "no cluster but c2 can serve demo/only") || !strings.Contains(err.Error(), "--force") {
			return fmt.Errorf("want a refusal that names the service and the way out, got: %w", err)
		}
		gs, err := c.Echo(ctx)
		if err != nil {
			return err
		}
		if steps := suite.Taken(gs, begin, "", ""); len(steps) > 0 {
			return fmt.Errorf("a drain that was refused moved traffic: %+v", steps)
		}
		c.Logf("With --force the other services go.")
		if err := c.Weir.BeginDrain(ctx, "c2", "--force"); err != nil {
			return err
		}
		if err := c.WaitShifted(ctx, "c2"); err != nil {
			return err
		}
		return lastCopyStays(ctx, c)
	})
}

// lastCopyStays wants the one pod outside of the fence, and its cluster not to be called safe.
func lastCopyStays(ctx context.Context, c *suite.Case) error {
	c2, err := c.Fleet.Cluster("c2")
	if err != nil {
		return err
	}
	client, err := c2.Client()
	if err != nil {
		return err
	}
	pods, err := client.CoreV1().Pods(demo.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=only"})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		if _, fenced := pods.Items[i].Labels[fence]; fenced {
			return errors.New("the last copy is fenced")
		}
	}
	d, err := c.Weir.DrainOf(ctx, "c2")
	if err != nil {
		return err
	}
	skipped := false
	for _, s := range d.Status.Services {
		skipped = skipped || s.Name == "only" && s.Step == "Skipped"
	}
	if len(pods.Items) != 1 || suite.Safe(d) || !skipped {
		return fmt.Errorf("%d pods of the last copy, safe to power off %t, services %+v", len(pods.Items), suite.Safe(d), d.Status.Services)
	}
	return nil
}

func TestASecondDrainThatWouldLeaveLessThanHalfWaitsUntilThatIsAccepted(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error {
		if err := c.Weir.BeginDrain(ctx, "c3"); err != nil {
			return err
		}
		if err := c.WaitShifted(ctx, "c3"); err != nil {
			return err
		}
		begin := time.Now()
		if err := c.Weir.BeginDrain(ctx, "c2"); err != nil {
			return err
		}
		b, err := c.WaitBlocked(ctx, 20*time.Second, "HalfLeft", "c2")
		if err != nil {
			return err
		}
		if b.Subject != "c3" || !strings.Contains(b.Message, "--accept-headroom-loss") {
			return fmt.Errorf("it does not say what it waits for, and the way out: %+v", b)
		}
		err = c.Throughout(ctx, 4*time.Second, func(ctx context.Context) (string, error) {
			gs, err := c.Echo(ctx)
			if err != nil {
				return "", err
			}
			if steps := suite.Taken(gs, begin, "", "c2"); len(steps) > 0 {
				return fmt.Sprintf("steps were taken: %+v", steps), nil
			}
			return "", nil
		})
		if err != nil {
			return err
		}
		if err := c.Weir.BeginDrain(ctx, "c2", "--accept-headroom-loss"); err != nil {
			return err
		}
		if err := c.WaitSafe(ctx, "c2"); err != nil {
			return err
		}
		gs, err := c.Echo(ctx)
		if err != nil {
			return err
		}
		if w := suite.In(gs, "c1").Weight; w.Written != 1000 {
			return fmt.Errorf("c1, which alone stays, has weight %+v", w)
		}
		return nil
	})
}

// fence is the label by which a pod leaves the mesh's endpoints.
const fence = "istio.io/draining"
