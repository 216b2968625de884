// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package product

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/weir-io/weir/api/v1alpha1"
)

// FollowService calls each for the service as it is and for each change of it,
// within milliseconds, until it says that it is done.
func (p *Product) FollowService(ctx context.Context, ns, name string, each func(v1alpha1.GlobalService) (done bool, err error)) error {
	client, err := p.fleet.Hub().Dynamic()
	if err != nil {
		return err
	}
	only := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
	for {
		w, err := client.Resource(resourceOf("globalservices")).Namespace(ns).Watch(ctx, only)
		if err != nil {
			return fmt.Errorf("follow service %s/%s: %w", ns, name, err)
		}
		// The server ends a watch now and then; the next one begins with the object as it is.
		for event := range w.ResultChan() {
			o, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			var gs v1alpha1.GlobalService
			err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &gs)
			done := false
			if err == nil {
				done, err = each(gs)
			}
			if done || err != nil {
				w.Stop()
				return err
			}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("follow service %s/%s: %w", ns, name, ctx.Err())
		}
	}
}
