// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/weir-io/weir/e2e/rig/process"
)

// Roles are the programs of a cluster that run as processes of the machine. istiod, gateways and all else are pods.
const (
	RoleEtcd              = "etcd"
	RoleAPIServer         = "kube-apiserver"
	RoleControllerManager = "kube-controller-manager"
	RoleScheduler         = "kube-scheduler"
	RoleProxy             = "kube-proxy"
	RoleKubelet           = "kubelet"
	RoleContainerd        = "containerd"
	RoleDNS               = "coredns"
	roleHolder            = "holder"
)

// spec fills in what is the same for every program of a cluster.
func (c *Cluster) spec(role string, args ...string) process.Spec {
	return process.Spec{
		Name: c.record(role), Args: append([]string{filepath.Join(c.fleet.bin, role)}, args...),
		Dir: c.dir, Log: filepath.Join(c.dir, "log", role+".log"), NetNS: c.place.space().Path(),
		Env: []string{"GOGC=50"},
	}
}

// record is the name under which a role's process is recorded.
func (c *Cluster) record(role string) string { return c.Name + "-" + role }

func (c *Cluster) file(name string) string { return filepath.Join(c.dir, name) }

// startAPIServer starts etcd and the API server and waits until the latter is ready.
func (c *Cluster) startAPIServer(ctx context.Context) error {
	if err := c.start(RoleEtcd); err != nil {
		return err
	}
	if err := c.start(RoleAPIServer); err != nil {
		return err
	}
	return c.waitAPIServer(ctx)
}

// start starts the program of a role as it runs in this cluster.
func (c *Cluster) start(role string) error {
	var s process.Spec
	switch role {
	case RoleEtcd:
		s = c.etcd()
	case RoleAPIServer:
		s = c.apiServer()
	case RoleControllerManager:
		s = c.controllerManager()
	case RoleScheduler:
		s = c.spec(role, "--kubeconfig="+c.Kubeconfig(), "--leader-elect=false", "--secure-port=0")
	case RoleProxy:
		s = c.kubeProxy()
	case RoleDNS:
		s = c.spec(role, "-conf", c.file("Corefile"))
	case RoleContainerd, RoleKubelet:
		var err error
		if s, err = c.nodeProgram(role); err != nil {
			return err
		}
	default:
		return fmt.Errorf("cluster %q: no role is called %q", c.Name, role)
	}
	_, err := c.fleet.table.Start(s)
	return err
}

func (c *Cluster) etcd() process.Spec {
	const client, peer = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
	return c.spec(RoleEtcd, "--name="+c.Name, "--data-dir="+c.file("etcd"),
		"--listen-client-urls="+client, "--advertise-client-urls="+client, "--listen-peer-urls="+peer,
		"--initial-advertise-peer-urls="+peer, "--initial-cluster="+c.Name+"="+peer,
		// The disk is as safe as the machine; what a kill of the process loses is nothing, for the kernel has it.
		"--unsafe-no-fsync", "--log-level=warn")
}

func (c *Cluster) apiServer() process.Spec {
	issuer := "https://kubernetes.default.svc.cluster.local"
	return c.spec(RoleAPIServer,
		"--etcd-servers=http://127.0.0.1:2379", fmt.Sprintf("--secure-port=%d", apiPort),
		"--bind-address="+c.place.node(), "--advertise-address="+c.place.node(),
		"--tls-cert-file="+c.file("server.pem"), "--tls-private-key-file="+c.file("server.key"),
		"--service-account-issuer="+issuer, "--api-audiences="+issuer+",istio-ca",
		"--service-account-key-file="+c.file("accounts.key"), "--service-account-signing-key-file="+c.file("accounts.key"),
		"--service-cluster-ip-range="+servicesNet, "--authorization-mode=RBAC", "--token-auth-file="+c.file("tokens.csv"),
		"--allow-privileged=true", "--profiling=false", "--kubelet-preferred-address-types=InternalIP",
		"--shutdown-delay-duration=0s")
}

func (c *Cluster) controllerManager() process.Spec {
	return c.spec(RoleControllerManager, "--kubeconfig="+c.Kubeconfig(), "--controllers=*", "--leader-elect=false", "--secure-port=0",
		"--service-account-private-key-file="+c.file("accounts.key"), "--root-ca-file="+c.file("ca.pem"),
		"--profiling=false", "--flex-volume-plugin-dir="+c.file("flex"))
}

func (c *Cluster) kubeProxy() process.Spec {
	return c.spec(RoleProxy, "--kubeconfig="+c.Kubeconfig(), "--proxy-mode=nftables", "--conntrack-max-per-core=0",
		"--conntrack-tcp-timeout-established=0s", "--conntrack-tcp-timeout-close-wait=0s",
		"--hostname-override="+c.place.nodeName(), "--cluster-cidr="+c.place.pods(),
		"--healthz-bind-address=127.0.0.1:10256", "--metrics-bind-address=127.0.0.1:10249")
}

func (c *Cluster) waitAPIServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	return c.poll(ctx, "API server ready", 200*time.Millisecond, func() (string, error) {
		client, err := c.Client()
		if err != nil {
			return "", err
		}
		if err := client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
			return err.Error(), nil //nolint:nilerr // Not there yet is what is waited for.
		}
		return "", nil
	})
}
