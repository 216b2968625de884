// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster is one running cluster. It may be used by many goroutines; faults on one cluster are the caller's to order.
type Cluster struct {
	// Name is "hub", "c1" and so on; Istio knows the member by the same name.
	Name string

	fleet *Fleet
	place place
	dir   string

	mu      sync.Mutex
	config  *rest.Config
	client  *kubernetes.Clientset
	dynamic *dynamic.DynamicClient
}

// Kubeconfig is the file of the cluster's administrator. Its server is an address inside the rig: use it in the cluster's
// namespace, in the one outside, or through [Cluster.REST].
func (c *Cluster) Kubeconfig() string { return c.file("kubeconfig") }

// Namespace is the name of the cluster's network namespace.
func (c *Cluster) Namespace() string { return c.place.space().Name }

// NodeIP is the address of the node: NodePorts and the API server answer on it.
func (c *Cluster) NodeIP() string { return c.place.node() }

// Server is the API server's URL, as pods of other clusters and the namespace outside reach it.
func (c *Cluster) Server() string { return c.place.server() }

// IngressIP is the address of the ingress gateway's load balancer; [Cluster.EastWestIP] that of the east-west gateway's.
func (c *Cluster) IngressIP() string { return c.place.ingress() }

// EastWestIP is the address of the east-west gateway's load balancer, in use in the topology [Gateways] only.
func (c *Cluster) EastWestIP() string { return c.place.eastWest() }

// Network is the name of the cluster's network as Istio knows it.
func (c *Cluster) Network() string { return c.place.network(c.fleet.Topology) }

// HostDir returns a folder of the machine, made when it is missing, that pods of this cluster can mount by hostPath at the
// same path. It is the node's disk: it outlives pods and power-offs, and goes with the fleet. Anyone may write to it.
func (c *Cluster) HostDir(name string) (string, error) {
	dir := filepath.Join(c.dir, "host", name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", fmt.Errorf("cluster %q: make host folder: %w", c.Name, err)
	}
	return dir, os.Chmod(dir, 0o777) // The umask has taken bits off.
}

// REST returns a client configuration with the administrator's rights. It dials from inside the cluster's own namespace, so
// it works from the machine's network, and also while the cluster's link is cut.
func (c *Cluster) REST() (*rest.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.config == nil {
		config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
		if err != nil {
			return nil, fmt.Errorf("cluster %q: %w", c.Name, err)
		}
		config.Dial = c.place.space().Dial
		config.QPS, config.Burst = 200, 400
		config.Timeout = 0
		c.config = config
	}
	return rest.CopyConfig(c.config), nil
}

// Client returns a typed client with the administrator's rights.
func (c *Cluster) Client() (*kubernetes.Clientset, error) {
	config, err := c.REST()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil {
		if c.client, err = kubernetes.NewForConfig(config); err != nil {
			return nil, fmt.Errorf("cluster %q: %w", c.Name, err)
		}
	}
	return c.client, nil
}

// Dynamic returns a client for objects of any kind with the administrator's rights.
func (c *Cluster) Dynamic() (*dynamic.DynamicClient, error) {
	config, err := c.REST()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dynamic == nil {
		if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
			return nil, fmt.Errorf("cluster %q: %w", c.Name, err)
		}
	}
	return c.dynamic, nil
}

// forget drops the clients, whose connections a power-off has left without an end.
func (c *Cluster) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.config, c.client, c.dynamic = nil, nil, nil
}

// poll calls check until it returns an empty text, an error, or the context ends; the last text tells what was missing.
func (c *Cluster) poll(ctx context.Context, what string, every time.Duration, check func() (string, error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		missing, err := check()
		if err != nil {
			return fmt.Errorf("cluster %q: wait for %s: %w", c.Name, what, err)
		}
		if missing == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cluster %q: wait for %s: %w; last: %s", c.Name, what, ctx.Err(), missing)
		case <-tick.C:
		}
	}
}
