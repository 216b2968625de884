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

// PowerOff takes the whole cluster's power: first its link falls silent, so that nothing of what follows is seen by others, then
// every process of it, pods too, gets SIGKILL. What is left is the disk. The same cluster comes back with [Cluster.PowerOn].
func (c *Cluster) PowerOff(ctx context.Context) error {
	if err := c.CutLink(ctx); err != nil {
		return err
	}
	recorded, err := c.fleet.table.List(c.Name + "-")
	if err != nil {
		return err
	}
	nets := map[uint64]bool{c.place.space().ID(): true}
	if err := killAll(ctx, ownedBy(recorded, nets)); err != nil {
		return fmt.Errorf("cluster %q: power off: %w", c.Name, err)
	}
	for _, p := range recorded {
		if err := c.fleet.table.End(ctx, p.Name, 0); err != nil {
			return err
		}
	}
	c.forget()
	return leaveNetwork(ctx, c.place)
}

// PowerOn starts a cluster that is off as a machine starts: its link comes up, its control plane, then its node. It returns
// when all that ran before is ready again.
func (c *Cluster) PowerOn(ctx context.Context) error {
	if c.place.space().Exists() {
		return fmt.Errorf("cluster %q: it is on already", c.Name)
	}
	begin := time.Now()
	if err := c.JoinLink(ctx); err != nil {
		return err
	}
	if err := c.boot(ctx); err != nil {
		return err
	}
	return c.waitAllReady(ctx, begin, 5*time.Minute)
}

// Off says whether the cluster is powered off.
func (c *Cluster) Off() bool { return !c.place.space().Exists() }

// WaitAllReady waits until each Deployment of the cluster has all its replicas available and no pod is in between.
func (c *Cluster) WaitAllReady(ctx context.Context, limit time.Duration) error {
	return c.waitAllReady(ctx, time.Time{}, limit)
}

// waitAllReady is [Cluster.WaitAllReady] that counts only containers started since the given time, for the API server of a
// cluster that was off shows its pods as they were.
func (c *Cluster) waitAllReady(ctx context.Context, since time.Time, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	client, err := c.Client()
	if err != nil {
		return err
	}
	return c.poll(ctx, "all deployments", 500*time.Millisecond, func() (string, error) {
		pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error(), nil //nolint:nilerr // It may come yet; the limit ends the wait.
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if p.Status.Phase != corev1.PodSucceeded && (!podReady(p) || startedBefore(p, since)) {
				return fmt.Sprintf("pod %s/%s is not ready", p.Namespace, p.Name), nil
			}
		}
		all, err := client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error(), nil //nolint:nilerr // It may come yet; the limit ends the wait.
		}
		for i := range all.Items {
			d := &all.Items[i]
			if d.Spec.Replicas != nil && d.Status.AvailableReplicas < *d.Spec.Replicas {
				return fmt.Sprintf("deployment %s/%s has %d of %d", d.Namespace, d.Name, d.Status.AvailableReplicas, *d.Spec.Replicas), nil
			}
		}
		return "", nil
	})
}

// startedBefore says whether one of a pod's containers runs since before the time. The API keeps whole seconds.
func startedBefore(p *corev1.Pod, since time.Time) bool {
	since = since.Truncate(time.Second)
	for _, s := range p.Status.ContainerStatuses {
		if s.State.Running != nil && s.State.Running.StartedAt.Time.Before(since) {
			return true
		}
	}
	return false
}
