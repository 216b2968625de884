// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package product

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-io/weir/api/v1alpha1"
)

// read reads one of weir's objects from the hub.
func (p *Product) read(ctx context.Context, resource, ns, name string, into any) error {
	client, err := p.fleet.Hub().Dynamic()
	if err != nil {
		return err
	}
	o, err := client.Resource(resourceOf(resource)).Namespace(ns).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read %s %s: %w", resource, name, err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		return fmt.Errorf("read %s %s: %w", resource, name, err)
	}
	return nil
}

func resourceOf(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: name}
}

// Service reads a GlobalService.
func (p *Product) Service(ctx context.Context, ns, name string) (v1alpha1.GlobalService, error) {
	var gs v1alpha1.GlobalService
	return gs, p.read(ctx, "globalservices", ns, name, &gs)
}

// Drains reads all ClusterDrains, in order of their names.
func (p *Product) Drains(ctx context.Context) ([]v1alpha1.ClusterDrain, error) {
	client, err := p.fleet.Hub().Dynamic()
	if err != nil {
		return nil, err
	}
	var drains v1alpha1.ClusterDrainList
	list, err := client.Resource(resourceOf("clusterdrains")).List(ctx, metav1.ListOptions{})
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(list.UnstructuredContent(), &drains)
	}
	if err != nil {
		return nil, fmt.Errorf("list clusterdrains: %w", err)
	}
	return drains.Items, nil
}

// DrainOf reads the ClusterDrain that kubectl weir makes for a cluster.
func (p *Product) DrainOf(ctx context.Context, cluster string) (v1alpha1.ClusterDrain, error) {
	var d v1alpha1.ClusterDrain
	return d, p.read(ctx, "clusterdrains", "", cluster, &d)
}

// WaitService waits until weir holds a service: its condition Ready is true and
// its rules and weights are proven.
func (p *Product) WaitService(ctx context.Context, ns, name string, limit time.Duration) error {
	err := poll(ctx, limit, func(ctx context.Context) (string, error) {
		gs, err := p.Service(ctx, ns, name)
		if apierrors.IsNotFound(err) {
			return "there is no GlobalService yet", nil
		}
		if err != nil {
			return "", err
		}
		return Held(gs), nil
	})
	if err != nil {
		return fmt.Errorf("service %s/%s: %w", ns, name, err)
	}
	return nil
}

// Held says what is missing until weir holds a service; empty when it does.
func Held(gs v1alpha1.GlobalService) string {
	ready := meta.FindStatusCondition(gs.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case ready == nil:
		return "it has no condition Ready"
	case ready.Status != metav1.ConditionTrue:
		return ready.Reason + ": " + ready.Message
	case gs.Status.Weights.Level != v1alpha1.ProofProven:
		return fmt.Sprintf("its weights are not proven: %v", gs.Status.Weights.Missing)
	default:
		return ""
	}
}

// waitMembers waits until every member's Cluster is Ready.
func (p *Product) waitMembers(ctx context.Context, limit time.Duration) error {
	for _, c := range p.fleet.Members() {
		if err := p.WaitMember(ctx, c.Name, limit); err != nil {
			return err
		}
	}
	return nil
}

// WaitMember waits until a member's Cluster is Ready and Healthy.
func (p *Product) WaitMember(ctx context.Context, name string, limit time.Duration) error {
	err := poll(ctx, limit, func(ctx context.Context) (string, error) {
		var c v1alpha1.Cluster
		if err := p.read(ctx, "clusters", "", name, &c); err != nil {
			return "", err
		}
		for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionHealthy} {
			have := meta.FindStatusCondition(c.Status.Conditions, kind)
			if have == nil {
				return "no condition " + kind, nil
			}
			if have.Status != metav1.ConditionTrue {
				return fmt.Sprintf("%s is %s, %s: %s", kind, have.Status, have.Reason, have.Message), nil
			}
		}
		return "", nil
	})
	if err != nil {
		return fmt.Errorf("cluster %q: %w", name, err)
	}
	return nil
}
