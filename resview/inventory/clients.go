// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic" //nolint:depguard // Only informers are made of it, which list and watch.
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// newClients makes clients of the member's API server.
func newClients(config *rest.Config) (clients, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return clients{}, fmt.Errorf("make client of the member's API server: %w", err)
	}
	custom, err := dynamic.NewForConfig(config)
	if err != nil {
		return clients{}, fmt.Errorf("make client of the member's API server: %w", err)
	}
	return clients{
		kube: kube,
		open: func(kind schema.GroupVersionResource) cache.SharedIndexInformer {
			return dynamicinformer.NewFilteredDynamicInformer(custom, kind, "", 0, cache.Indexers{}, nil).Informer()
		},
		version: askIstiod(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}),
		answers: func(ctx context.Context) error {
			err := kube.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
			if apierrors.IsForbidden(err) {
				return nil // A refusal is an answer.
			}
			return err
		},
	}, nil
}
