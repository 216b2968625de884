// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package binding

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
)

// input is everything that one look at a federated workload rests on.
type input struct {
	key         types.NamespacedName
	workload    *v1alpha1.FederatedDeployment          // nil: there is none, or it is going
	preferences []v1alpha1.ReplicaSchedulingPreference // those that name it
	binding     *v1alpha1.ResourceBinding              // nil: there is none yet
}

func (r *Reconciler) gather(ctx context.Context, key types.NamespacedName) (*input, error) {
	in := &input{key: key}
	var workload v1alpha1.FederatedDeployment
	err := r.Client.Get(ctx, key, &workload)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read FederatedDeployment %s: %w", key, err)
	}
	if err == nil && workload.DeletionTimestamp.IsZero() {
		in.workload = &workload
	}
	var preferences v1alpha1.ReplicaSchedulingPreferenceList
	if err := r.Client.List(ctx, &preferences, client.InNamespace(key.Namespace)); err != nil {
		return nil, fmt.Errorf("list ReplicaSchedulingPreferences in %s: %w", key.Namespace, err)
	}
	for _, p := range preferences.Items {
		if names(&p) == key {
			in.preferences = append(in.preferences, p)
		}
	}
	if in.workload == nil {
		return in, nil
	}
	var binding v1alpha1.ResourceBinding
	switch err := r.Client.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: workload.BindingName()}, &binding); {
	case err == nil:
		in.binding = &binding
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("read the ResourceBinding of FederatedDeployment %s: %w", key, err)
	}
	return in, nil
}

// names is the workload that a preference is for.
func names(p *v1alpha1.ReplicaSchedulingPreference) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Spec.TargetRef.Name}
}
