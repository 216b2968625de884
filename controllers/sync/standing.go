// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
)

// standing is an object on the hub; nil where there is none, or it is being deleted.
func standing[T any, P interface {
	*T
	client.Object
}](ctx context.Context, from client.Reader, key types.NamespacedName) (*T, error) {
	var o T
	switch err := from.Get(ctx, key, P(&o)); {
	case apierrors.IsNotFound(err) || err == nil && !P(&o).GetDeletionTimestamp().IsZero():
		return nil, nil //nolint:nilnil // there is none, and nothing went wrong.
	case err != nil:
		return nil, fmt.Errorf("read %s %s: %w", reflect.TypeFor[T]().Name(), key, err)
	}
	return &o, nil
}

// bindingOf is the binding of a federated workload.
func bindingOf(ctx context.Context, from client.Reader, d *v1alpha1.FederatedDeployment) (*v1alpha1.ResourceBinding, error) {
	return standing[v1alpha1.ResourceBinding](ctx, from, types.NamespacedName{Namespace: d.Namespace, Name: d.BindingName()})
}
