// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Cordon takes the cluster's node out of use for new pods, as kubectl cordon does. What runs there runs on.
// [Cluster.Uncordon] undoes it.
func (c *Cluster) Cordon(ctx context.Context) error { return c.unschedulable(ctx, true) }

// Uncordon lets the cluster's node take new pods. One that takes them already is no error.
func (c *Cluster) Uncordon(ctx context.Context) error { return c.unschedulable(ctx, false) }

func (c *Cluster) unschedulable(ctx context.Context, so bool) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, so)
	name := c.place.nodeName()
	_, err = client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	if err != nil {
		return fmt.Errorf("cluster %q: node %s: unschedulable %t: %w", c.Name, name, so, err)
	}
	return nil
}

// Evict evicts n of the pods that match a label selector, the first by name, as kubectl drain does: budgets are heeded, and
// each pod has its time to end. It returns the names, and waits for nothing.
func (c *Cluster) Evict(ctx context.Context, namespace, selector string, n int) ([]string, error) {
	client, err := c.Client()
	if err != nil {
		return nil, err
	}
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("cluster %q: list pods %s/%s: %w", c.Name, namespace, selector, err)
	}
	var names []string
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			names = append(names, pods.Items[i].Name)
		}
	}
	if len(names) < n {
		return nil, fmt.Errorf("cluster %q: %d pods match %s/%s, and %d are to be evicted", c.Name, len(names), namespace, selector, n)
	}
	slices.Sort(names)
	for _, name := range names[:n] {
		e := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if err := client.PolicyV1().Evictions(namespace).Evict(ctx, e); err != nil {
			return nil, fmt.Errorf("cluster %q: evict pod %s/%s: %w", c.Name, namespace, name, err)
		}
	}
	return names[:n], nil
}
