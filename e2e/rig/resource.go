// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

// resource finds where the server keeps objects of this kind.
func (c *Cluster) resource(mapper *restmapper.DeferredDiscoveryRESTMapper, o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	g := o.GroupVersionKind()
	m, err := mapper.RESTMapping(g.GroupKind(), g.Version)
	if err != nil {
		return nil, err
	}
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	r := client.Resource(m.Resource)
	if m.Scope.Name() != meta.RESTScopeNameNamespace {
		return r, nil
	}
	if o.GetNamespace() == "" {
		o.SetNamespace("default")
	}
	return r.Namespace(o.GetNamespace()), nil
}

// passing says whether an error is of the kind that goes away while a cluster starts.
func passing(err error) bool {
	if apierrors.IsNotFound(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) {
		return true
	}
	text := err.Error()
	return apierrors.IsInternalError(err) && strings.Contains(text, "webhook") || strings.Contains(text, "connection refused") ||
		strings.Contains(text, "service account") // The account's own controller makes it a moment later.
}

func ignoreMissing(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
