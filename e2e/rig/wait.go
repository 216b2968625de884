// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WaitDeployment waits until all replicas of a Deployment are up to date and available.
func (c *Cluster) WaitDeployment(ctx context.Context, namespace, name string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	client, err := c.Client()
	if err != nil {
		return err
	}
	return c.poll(ctx, "deployment "+namespace+"/"+name, 300*time.Millisecond, func() (string, error) {
		d, err := client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error(), nil //nolint:nilerr // It may come yet; the limit ends the wait.
		}
		want := int32(1)
		if d.Spec.Replicas != nil {
			want = *d.Spec.Replicas
		}
		s := d.Status
		if s.ObservedGeneration < d.Generation || s.UpdatedReplicas < want || s.AvailableReplicas < want || s.Replicas > want {
			return fmt.Sprintf("%d of %d available", s.AvailableReplicas, want), nil
		}
		return "", nil
	})
}

// WaitPodsReady waits until exactly want pods match the label selector, and all are Ready.
func (c *Cluster) WaitPodsReady(ctx context.Context, namespace, selector string, want int, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	client, err := c.Client()
	if err != nil {
		return err
	}
	return c.poll(ctx, fmt.Sprintf("%d pods %s/%s", want, namespace, selector), 300*time.Millisecond, func() (string, error) {
		pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err.Error(), nil //nolint:nilerr // It may come yet; the limit ends the wait.
		}
		ready := 0
		for i := range pods.Items {
			if podReady(&pods.Items[i]) {
				ready++
			}
		}
		if ready != want || len(pods.Items) != want {
			return fmt.Sprintf("%d pods, %d ready", len(pods.Items), ready), nil
		}
		return "", nil
	})
}

func podReady(p *corev1.Pod) bool {
	if p.DeletionTimestamp != nil {
		return false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
