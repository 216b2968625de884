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

// together is the next step, in which no pod is fenced before every other service on the same pods can do without them: the
// fence is on the pod and takes it from all. Such services so leave a member together, each by its own steps up to there.
func (r *Reconciler) together(ctx context.Context, gs *v1alpha1.GlobalService, binding *v1alpha1.ResourceBinding, state shift.State, now time.Time) (shift.Step, []shift.Blocked, error) {
	for {
		step, blocked := next(gs, binding, state)
		if step.Kind != shift.Fence {
			return step, blocked, nil
		}
		needed, err := r.needed(ctx, gs, step, now)
		if err != nil || len(needed) == 0 {
			return step, blocked, err
		}
		// What else there is to do goes on: with this the next answer is no fence of the same cluster.
		for i := range state.Clusters {
			if state.Clusters[i].Name == step.Cluster {
				state.Clusters[i].Needed = needed
			}
		}
	}
}

// needed names the other services that cannot do without the pods that a step fences.
func (r *Reconciler) needed(ctx context.Context, gs *v1alpha1.GlobalService, step shift.Step, now time.Time) ([]string, error) {
	var out []string
	names := sharers(gs, step.Cluster)
	for _, name := range names {
		ok, err := r.spares(ctx, client.ObjectKey{Namespace: gs.Namespace, Name: name}, step, now)
		if err != nil {
			return nil, err
		}
		if !ok || len(names) >= v1alpha1.MaxSharedWith {
			out = append(out, gs.Namespace+"/"+name)
		}
	}
	return out, nil
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
