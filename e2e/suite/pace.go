// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/demo"
)

// policyName is the policy by which the application's traffic moves.
const policyName = "pace"

// The paces of cases: brisk moves all there is in one step, stepwise leaves several of each kind.
var (
	brisk    = v1alpha1.ShiftPace{MaxStepPercent: 100, FenceStepPods: demo.Replicas}
	stepwise = v1alpha1.ShiftPace{MaxStepPercent: 20, FenceStepPods: 2}
)

// paceLimit is how long weir may take to read an edit of a policy.
const paceLimit = 30 * time.Second

// applyPace gives the hub the policy.
func (w *World) applyPace(ctx context.Context, pace v1alpha1.ShiftPace) error {
	return w.fleet.Hub().Apply(ctx, fmt.Sprintf(`apiVersion: federation.weir.io/v1alpha1
kind: TrafficPolicy
metadata: {name: %s, namespace: %s}
spec:
  pace: {maxStepPercent: %d, fenceStepPods: %d}
`, policyName, demo.Namespace, pace.MaxStepPercent, pace.FenceStepPods))
}

// setPace has the application's traffic move at a pace from now on.
func (w *World) setPace(ctx context.Context, pace v1alpha1.ShiftPace) error {
	if w.pace == pace {
		return nil
	}
	if err := w.applyPace(ctx, pace); err != nil {
		return err
	}
	c := &Case{Weir: w.weir.value}
	err := c.Until(ctx, paceLimit, "the pace", func(ctx context.Context) (string, error) {
		gs, err := c.Echo(ctx)
		if err != nil {
			return "", err
		}
		if p := gs.Status.Policy; p == nil || p.Pace.MaxStepPercent != pace.MaxStepPercent || p.Pace.FenceStepPods != pace.FenceStepPods {
			return fmt.Sprintf("the policy in force is %+v", p), nil
		}
		return "", nil
	})
	if err == nil {
		w.pace = pace
	}
	return err
}
