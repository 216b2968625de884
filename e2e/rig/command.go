// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/weir-io/weir/e2e/rig/netns"
)

// InNamespace is a command in the cluster's network: what a program on the node would see.
func (c *Cluster) InNamespace(ctx context.Context, argv ...string) *exec.Cmd {
	return c.place.space().Command(ctx, argv...)
}

// DialFrom connects from an address in the cluster's network namespace, so that a loopback address is the cluster's own; nil
// lets the kernel choose one.
func (c *Cluster) DialFrom(ctx context.Context, from net.IP, network, address string) (net.Conn, error) {
	return c.place.space().DialFrom(ctx, from, network, address)
}

// OnNode is a command on the cluster's node: its network and its file systems. It fails when the node is off.
func (c *Cluster) OnNode(ctx context.Context, argv ...string) *exec.Cmd {
	holder, err := c.fleet.table.Lookup(c.record(roleHolder))
	if err != nil || !holder.Running() {
		cmd := exec.CommandContext(ctx, "false")
		cmd.Err = fmt.Errorf("cluster %q: the node is off", c.Name)
		return cmd
	}
	w := []string{"--net=" + c.place.space().Path(), fmt.Sprintf("--mount=/proc/%d/ns/mnt", holder.PID), "--"}
	return exec.CommandContext(ctx, "nsenter", append(w, argv...)...)
}

// InPod is a command in the network of a pod, of which PID is any process: what the application in it would see.
func (c *Cluster) InPod(ctx context.Context, pid int, argv ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter", append([]string{"--net=/proc/" + strconv.Itoa(pid) + "/ns/net", "--"}, argv...)...)
}

// Kubectl is the command line of the cluster's version, with the administrator's rights.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	return c.InNamespace(ctx, append([]string{filepath.Join(c.fleet.bin, "kubectl"), "--kubeconfig", c.Kubeconfig()}, args...)...)
}

// Outside is a command where clients and operators stand: it reaches load balancers and API servers of all clusters, and no pod.
func (f *Fleet) Outside(ctx context.Context, argv ...string) *exec.Cmd {
	return outside.Command(ctx, argv...)
}

// OutsideSpace is the network namespace of [Fleet.Outside].
func (f *Fleet) OutsideSpace() netns.Space { return outside }

// Bin returns the path of one of the rig's programs, such as "kubectl" or "istio-validate".
func (f *Fleet) Bin(name string) string { return filepath.Join(f.bin, name) }
