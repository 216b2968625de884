// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/e2e/rig/process"
)

// Kill ends a program of the cluster with SIGKILL and waits until it is gone. Nothing starts it again but [Cluster.Start].
func (c *Cluster) Kill(ctx context.Context, role string) error {
	return c.fleet.table.End(ctx, c.record(role), 0)
}

// Start starts a program of the cluster that was killed. The API server is ready when Start returns; of the others only the
// start is waited for.
func (c *Cluster) Start(ctx context.Context, role string) error {
	if err := c.start(role); err != nil {
		return err
	}
	if role == RoleAPIServer {
		return c.waitAPIServer(ctx)
	}
	return nil
}

// Freeze stops a program of the cluster in its tracks with SIGSTOP: its connections stay open and nothing answers. [Cluster.Thaw]
// lets it go on.
func (c *Cluster) Freeze(role string) error {
	return c.fleet.table.Signal(c.record(role), syscall.SIGSTOP)
}

// Thaw lets a frozen program go on.
func (c *Cluster) Thaw(role string) error {
	return c.fleet.table.Signal(c.record(role), syscall.SIGCONT)
}

// Killed tells what a kill has hit.
type Killed struct {
	// Pods are the names of the pods, in order.
	Pods []string
	// Began is the time just before the first signal, Gone that at which the last process was seen gone.
	Began, Gone time.Time
}

// KillPods kills the pods that match a label selector with SIGKILL: all their sidecars first, then the applications, then what
// holds their namespaces. Nobody is told before; the kubelet starts them again by itself.
func (c *Cluster) KillPods(ctx context.Context, namespace, selector string) (Killed, error) {
	return c.killContainers(ctx, namespace, selector, func(Container) bool { return true })
}

// KillApps kills the applications of the pods that match a label selector with SIGKILL, under sidecars that live on.
func (c *Cluster) KillApps(ctx context.Context, namespace, selector string) (Killed, error) {
	return c.killContainers(ctx, namespace, selector, func(one Container) bool { return one.Name != "" && one.Name != sidecar })
}

// KillIngress kills the cluster's ingress gateway.
func (c *Cluster) KillIngress(ctx context.Context) (Killed, error) {
	return c.KillPods(ctx, ingressNamespace, "istio=ingressgateway")
}

// KillEastWest kills the cluster's gateway to the other networks.
func (c *Cluster) KillEastWest(ctx context.Context) (Killed, error) {
	return c.KillPods(ctx, istioNamespace, "istio=eastwestgateway")
}

// KillIstiod kills all replicas of the cluster's istiod.
func (c *Cluster) KillIstiod(ctx context.Context) (Killed, error) {
	return c.KillPods(ctx, istioNamespace, "app=istiod")
}

func (c *Cluster) killContainers(ctx context.Context, namespace, selector string, hit func(Container) bool) (Killed, error) {
	client, err := c.Client()
	if err != nil {
		return Killed{}, err
	}
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return Killed{}, fmt.Errorf("cluster %q: list pods %s/%s: %w", c.Name, namespace, selector, err)
	}
	wanted := make(map[string]bool)
	for i := range pods.Items {
		wanted[pods.Items[i].Name] = true
	}
	all, err := c.Containers()
	if err != nil {
		return Killed{}, err
	}
	var victims []Container
	for _, one := range all {
		if one.Namespace == namespace && wanted[one.Pod] && hit(one) {
			victims = append(victims, one)
		}
	}
	if len(victims) == 0 {
		return Killed{}, fmt.Errorf("cluster %q: no running pod matches %s/%s", c.Name, namespace, selector)
	}
	slices.SortStableFunc(victims, func(a, b Container) int { return killRank(a) - killRank(b) })
	return c.kill(ctx, victims)
}

// killRank orders a pod's end: sidecar, application, and last what holds the namespaces.
func killRank(one Container) int {
	switch one.Name {
	case sidecar:
		return 0
	case "":
		return 2
	default:
		return 1
	}
}

// kill sends SIGKILL to each container's first process, upon which the kernel kills the rest, and waits until all are gone.
func (c *Cluster) kill(ctx context.Context, victims []Container) (Killed, error) {
	snapshot, err := process.Snapshot()
	if err != nil {
		return Killed{}, err
	}
	roots := make(map[int]bool)
	for _, v := range victims {
		roots[v.PID] = true
	}
	watched := process.Descendants(snapshot, roots)
	for _, i := range snapshot {
		if roots[i.PID] {
			watched = append(watched, i)
		}
	}
	k := Killed{Began: time.Now()}
	seen := make(map[string]bool)
	for _, v := range victims {
		if err := syscall.Kill(v.PID, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			return k, fmt.Errorf("cluster %q: kill %s/%s: %w", c.Name, v.Pod, v.Name, err)
		}
		if !seen[v.Pod] {
			seen[v.Pod] = true
			k.Pods = append(k.Pods, v.Pod)
		}
	}
	slices.Sort(k.Pods)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err = c.poll(ctx, "the killed to be gone", 5*time.Millisecond, func() (string, error) {
		for _, i := range watched {
			if !i.Gone() {
				return i.Name, nil
			}
		}
		return "", nil
	})
	k.Gone = time.Now()
	return k, err
}

// HoldAgent stops the agent in one pod's sidecar with SIGSTOP: its Envoy serves on with the configuration that it has, and
// takes no new one. After about a minute the kubelet finds such a pod not ready. [Cluster.ReleaseAgent] lets it go on.
func (c *Cluster) HoldAgent(namespace, pod string) error {
	return c.signalContainer(namespace, pod, sidecar, syscall.SIGSTOP)
}

// ReleaseAgent lets a held agent go on.
func (c *Cluster) ReleaseAgent(namespace, pod string) error {
	return c.signalContainer(namespace, pod, sidecar, syscall.SIGCONT)
}

// HoldIstiod stops one replica of istiod with SIGSTOP: its connections stay open, and it pushes nothing and answers nothing.
// [Cluster.ReleaseIstiod] lets it go on.
func (c *Cluster) HoldIstiod(pod string) error {
	return c.signalContainer(istioNamespace, pod, istiod, syscall.SIGSTOP)
}

// ReleaseIstiod lets a held istiod go on.
func (c *Cluster) ReleaseIstiod(pod string) error {
	return c.signalContainer(istioNamespace, pod, istiod, syscall.SIGCONT)
}

// signalContainer signals the first process of a container.
func (c *Cluster) signalContainer(namespace, pod, name string, sig syscall.Signal) error {
	one, err := c.container(namespace, pod, name)
	if err != nil {
		return err
	}
	if err := syscall.Kill(one.PID, sig); err != nil {
		return fmt.Errorf("cluster %q: signal %s/%s: %w", c.Name, pod, name, err)
	}
	return nil
}

// CutLink makes the cluster's link silent: what is sent over it, either way, is lost without an answer. Connections stay
// open on both sides. Cutting twice is no error.
func (c *Cluster) CutLink(ctx context.Context) error {
	return router.NFT(ctx, fmt.Sprintf("add element inet weir silent { %q }\n", c.Name))
}

// JoinLink undoes [Cluster.CutLink].
func (c *Cluster) JoinLink(ctx context.Context) error {
	// An element that is not there can't be deleted, so it is added first.
	return router.NFT(ctx, fmt.Sprintf("add element inet weir silent { %[1]q }\ndelete element inet weir silent { %[1]q }\n", c.Name))
}

// Part makes two clusters silent to each other, both ways; each still reaches all others. [Fleet.Unpart] undoes it.
func (f *Fleet) Part(ctx context.Context, a, b string) error {
	return router.NFT(ctx, fmt.Sprintf("add element inet weir apart { %[1]q . %[2]q, %[2]q . %[1]q }\n", a, b))
}

// Unpart undoes [Fleet.Part].
func (f *Fleet) Unpart(ctx context.Context, a, b string) error {
	pair := fmt.Sprintf("{ %[1]q . %[2]q, %[2]q . %[1]q }", a, b)
	return router.NFT(ctx, "add element inet weir apart "+pair+"\ndelete element inet weir apart "+pair+"\n")
}
