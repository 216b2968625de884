// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

// fieldManager owns what the rig applies.
const fieldManager = "weir-rig"

// Apply applies YAML documents server-side, definitions and namespaces first, and waits for new kinds to be served. Objects
// without a namespace go to "default".
func (c *Cluster) Apply(ctx context.Context, manifests ...string) error {
	objects, err := decode(manifests)
	if err != nil {
		return fmt.Errorf("cluster %q: %w", c.Name, err)
	}
	mapper, err := c.mapper()
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := c.applyOne(ctx, mapper, o); err != nil {
			return fmt.Errorf("cluster %q: apply %s %s: %w", c.Name, o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// Delete deletes the objects that the YAML documents name, the last first, and waits until all are gone, a namespace with all
// that is in it. One that is not there is no error.
func (c *Cluster) Delete(ctx context.Context, manifests ...string) error {
	objects, err := decode(manifests)
	if err != nil {
		return fmt.Errorf("cluster %q: %w", c.Name, err)
	}
	mapper, err := c.mapper()
	if err != nil {
		return err
	}
	for _, o := range slices.Backward(objects) {
		r, err := c.resource(mapper, o)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cluster %q: delete %s: %w", c.Name, o.GetName(), err)
		}
		if err := r.Delete(ctx, o.GetName(), metav1.DeleteOptions{}); ignoreMissing(err) != nil {
			return fmt.Errorf("cluster %q: delete %s %s: %w", c.Name, o.GetKind(), o.GetName(), err)
		}
	}
	return c.waitGone(ctx, mapper, objects)
}

// waitGone waits until the server has none of the objects.
func (c *Cluster) waitGone(ctx context.Context, mapper *restmapper.DeferredDiscoveryRESTMapper, objects []*unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for _, o := range objects {
		r, err := c.resource(mapper, o)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cluster %q: delete %s: %w", c.Name, o.GetName(), err)
		}
		err = c.poll(ctx, o.GetKind()+" "+o.GetName()+" to be gone", 200*time.Millisecond, func() (string, error) {
			_, err := r.Get(ctx, o.GetName(), metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return "", nil
			}
			return "it is there", err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) mapper() (*restmapper.DeferredDiscoveryRESTMapper, error) {
	config, err := c.REST()
	if err != nil {
		return nil, err
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cluster %q: %w", c.Name, err)
	}
	return restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d)), nil
}

// applyOne applies one object. A kind whose definition was applied just before may not be served yet, and a webhook may not
// answer yet, so it is tried for a while.
func (c *Cluster) applyOne(ctx context.Context, mapper *restmapper.DeferredDiscoveryRESTMapper, o *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return c.poll(ctx, "the server to take it", 250*time.Millisecond, func() (string, error) {
		r, err := c.resource(mapper, o)
		if meta.IsNoMatchError(err) {
			mapper.Reset()
			return err.Error(), nil
		}
		if err != nil {
			return "", err
		}
		_, err = r.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		if err != nil && passing(err) {
			return err.Error(), nil
		}
		return "", err
	})
}

// decode splits documents into objects, ordered so that what others need comes first; equals keep their order.
func decode(manifests []string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, m := range manifests {
		d := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(m), 4096)
		for {
			o := &unstructured.Unstructured{}
			err := d.Decode(&o.Object)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("read manifest: %w", err)
			}
			if len(o.Object) > 0 {
				out = append(out, o)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return out, nil
}

// rank orders kinds; webhooks come last, for one that is not served yet would refuse what follows.
func rank(o *unstructured.Unstructured) int {
	switch o.GetKind() {
	case "CustomResourceDefinition":
		return 0
	case "Namespace":
		return 1
	case "ServiceAccount", "ConfigMap", "Secret", "ClusterRole", "Role":
		return 2
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		return 4
	default:
		return 3
	}
}
