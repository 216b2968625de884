// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/rig"
)

// settle is how long gateways may still know a killed pod after it is ready
// again.
const settle = 10 * time.Second

// Strike is a sudden end of something in one cluster, of which nobody is told before.
type Strike struct {
	// Name is what was struck, and Cluster where.
	Name, Cluster string
	// Do strikes, and says when.
	Do func(context.Context, *rig.Cluster) (rig.Killed, error)
	// Back waits until what was struck serves again; gone is when it was seen to be gone.
	Back func(ctx context.Context, c *rig.Cluster, gone time.Time) error
}

// killPods kills all pods of the application in a cluster and waits until they are back.
func (s *stage) killPods(ctx context.Context, cluster string) error {
	return s.strike(ctx, Strike{
		Name: "pods", Cluster: cluster,
		Do: func(ctx context.Context, c *rig.Cluster) (rig.Killed, error) {
			return c.KillPods(ctx, namespace, "app="+serverName)
		},
		Back: s.waitRestarted,
	})
}

// strike strikes, waits until all is back, and notes what no one could have saved.
func (s *stage) strike(ctx context.Context, b Strike) error {
	c, err := s.fleet.Cluster(b.Cluster)
	if err != nil {
		return err
	}
	upstreams, err := s.upstreams(ctx, c)
	if err != nil {
		return err
	}
	killed, err := b.Do(ctx, c)
	if err != nil {
		return err
	}
	s.kills = append(s.kills, load.Kill{
		Name: b.Name + " of " + b.Cluster, From: killed.Began.UnixNano(), Gone: killed.Gone.UnixNano(), Upstreams: upstreams,
	})
	s.tell.say("%d pods were gone %s after the first signal.", len(killed.Pods), killed.Gone.Sub(killed.Began).Round(time.Millisecond))
	if err := b.Back(ctx, c, killed.Gone); err != nil {
		return err
	}
	if err := hold(ctx, settle); err != nil {
		return err
	}
	// No rule of weir's is in the ingress client's way.
	s.unprotected = append(s.unprotected, load.Span{From: killed.Began.UnixNano(), To: time.Now().UnixNano()})
	return nil
}

// upstreams are all names by which ledgers and access logs know the
// application's pods of a cluster. Across networks proxies know its gateway.
func (s *stage) upstreams(ctx context.Context, c *rig.Cluster) (map[string]bool, error) {
	pods, err := listPods(ctx, c, serverName)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for i := range pods {
		names[pods[i].Name] = true
		names[pods[i].Status.PodIP] = true
	}
	if s.fleet.Topology == rig.Gateways {
		names[c.EastWestIP()] = true
	}
	return names, nil
}

// waitRestarted waits until all containers of the application run since a time
// and all its pods are ready. The API keeps whole seconds.
func (s *stage) waitRestarted(ctx context.Context, c *rig.Cluster, since time.Time) error {
	since = since.Truncate(time.Second)
	err := poll(ctx, readyLimit, func() (bool, error) {
		pods, err := listPods(ctx, c, serverName)
		if err != nil || len(pods) != replicas {
			return false, err
		}
		for i := range pods {
			if !restarted(&pods[i], since) {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("cluster %q: killed pods did not come back: %w", c.Name, err)
	}
	return nil
}

// restarted reports whether a pod is ready with containers no older than since.
func restarted(p *corev1.Pod, since time.Time) bool {
	for _, status := range p.Status.ContainerStatuses {
		if !status.Ready || status.State.Running == nil || status.State.Running.StartedAt.Time.Before(since) {
			return false
		}
	}
	return len(p.Status.ContainerStatuses) > 0
}

// seen reads what the proxies of the clients in the mesh know about each
// request: its first upstream. A request that reached a killed sidecar and not
// its application is in no ledger.
func (s *stage) seen(ctx context.Context) ([]load.Sight, error) {
	var all []load.Sight
	for _, p := range s.places {
		if p.Outside {
			continue
		}
		c, err := s.fleet.Cluster(p.Cluster)
		if err != nil {
			return nil, err
		}
		client, err := c.Client()
		if err != nil {
			return nil, err
		}
		pods, err := listPods(ctx, c, clientName)
		if err != nil {
			return nil, err
		}
		for i := range pods {
			log, err := client.CoreV1().Pods(namespace).GetLogs(pods[i].Name, &corev1.PodLogOptions{Container: "istio-proxy"}).DoRaw(ctx)
			if err != nil {
				return nil, fmt.Errorf("cluster %q: access log of %s: %w", c.Name, pods[i].Name, err)
			}
			all = append(all, load.ParseAccessLog(log)...)
		}
	}
	return all, nil
}

// listPods lists the pods of one of the demo's workloads.
func listPods(ctx context.Context, c *rig.Cluster, app string) ([]corev1.Pod, error) {
	client, err := c.Client()
	if err != nil {
		return nil, err
	}
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		return nil, fmt.Errorf("cluster %q: list pods of %s: %w", c.Name, app, err)
	}
	return pods.Items, nil
}
