// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/shift"
)

// together holds a fence back until every other service on the same pods can do without them: the fence is on the pod and
// takes it from all. Such services so leave a member together, each by its own steps up to there.
func (r *Reconciler) together(ctx context.Context, gs *v1alpha1.GlobalService, step shift.Step, blocked []shift.Blocked, now time.Time) (shift.Step, []shift.Blocked, error) {
	if step.Kind != shift.Fence {
		return step, blocked, nil
	}
	held, names := false, sharers(gs, step.Cluster)
	for _, name := range names {
		ok, err := r.spares(ctx, client.ObjectKey{Namespace: gs.Namespace, Name: name}, step, now)
		if err != nil {
			return step, blocked, err
		}
		if !ok || len(names) >= v1alpha1.MaxSharedWith {
			held = true
			blocked = append(blocked, shift.Blocked{Code: shift.SharedPods, Cluster: step.Cluster, Subject: gs.Namespace + "/" + name, Wakes: shift.SharerReady})
		}
	}
	if held {
		step = shift.Step{Kind: shift.Wait, Proofs: step.Proofs, Finished: step.Finished}
	}
	return step, blocked, nil
}

// sharers are the other services behind pods of a member.
func sharers(gs *v1alpha1.GlobalService, cluster string) []string {
	for _, c := range gs.Status.Clusters {
		if c.Name == cluster {
			return c.SharedWith
		}
	}
	return nil
}

// spares says whether another service can do without the pods that a step fences. One of which the hub knows nothing yet, or
// for which nothing is written, cannot.
func (r *Reconciler) spares(ctx context.Context, key client.ObjectKey, step shift.Step, now time.Time) (bool, error) {
	var other v1alpha1.GlobalService
	switch err := r.Client.Get(ctx, key, &other); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read global service %s, which is on the same pods: %w", key, err)
	}
	if !ready(&other) {
		return false, nil
	}
	drains, binding, err := r.wishes(ctx, &other)
	if err != nil {
		return false, err
	}
	state := stateOf(&other, binding, drains, now)
	return shift.Validate(state) == nil && shift.Spares(state, step), nil
}
