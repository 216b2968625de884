// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/e2e/rig/process"
)

// socket is where containerd listens, as the node sees it.
const socket = "/run/containerd/containerd.sock"

// containerdConfig keeps what a container runtime keeps where it does by default: the node has a /var and a /run of its own.
// Without restrict_oom_score_adj each pod fails to start where the machine denies CAP_SYS_RESOURCE.
const containerdConfig = `version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "` + socket + `"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "weir.test/pause:1"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["/usr/lib/cni"]
    conf_dir = "%[1]s/cni"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      BinaryName = "/usr/sbin/runc"
      SystemdCgroup = false
`

// cniConfig gives each pod a point-to-point link to the node.
const cniConfig = `{"cniVersion":"1.0.0","name":"pods","plugins":[
 {"type":"ptp","ipMasq":false,
  "ipam":{"type":"host-local","dataDir":"/var/lib/cni/pods","ranges":[[{"subnet":"%s","rangeStart":"10.%[2]d.1.1","rangeEnd":"10.%[2]d.250.250","gateway":"%[3]s"}]],"routes":[{"dst":"0.0.0.0/0"}]}},
 {"type":"loopback"}]}
`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
containerRuntimeEndpoint: unix://` + socket + `
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
address: %[1]s
healthzPort: 0
failSwapOn: false
imageGCHighThresholdPercent: 100
evictionHard: {}
localStorageCapacityIsolation: false
registerNode: true
clusterDomain: cluster.local
clusterDNS: [%[2]s]
resolvConf: %[3]s
maxPods: 100
shutdownGracePeriod: 0s
serializeImagePulls: false
`

const corefile = `.:53 {
  bind %[1]s
  errors
  kubernetes cluster.local in-addr.arpa {
    kubeconfig %[2]s %[3]s
    ttl 5
  }
  cache 5
}
`

// holderScript gives the node its own /var and /run and then holds the mount namespace open. The mounts are shared among the
// node's own programs only, as pods that take part in mount propagation need it. The kubelet sets some of the kernel's
// settings; on this node they are files, for the settings are the machine's.
const holderScript = `set -e
mount --make-rprivate /
for f in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
  mkdir -p "$1/sys/${f%/*}"
  cat "/proc/sys/$f" > "$1/sys/$f"
  mount --bind "$1/sys/$f" "/proc/sys/$f"
done
mount --bind "$1/var" /var
mount -t tmpfs -o mode=0755 tmpfs /run
mount --make-rshared /
ln -sfn /run /var/run
touch "$1/holder.ready"
exec sleep infinity
`

// writeNode writes the configuration of the node's programs and unpacks the images onto its disk.
func (c *Cluster) writeNode(store string) error {
	for _, d := range []string{"var/lib", "var/log", "var/tmp", "cni", "host"} {
		if err := os.MkdirAll(c.file(d), 0o755); err != nil {
			return fmt.Errorf("cluster %q: %w", c.Name, err)
		}
	}
	resolv := c.file("resolv.conf")
	for name, text := range map[string]string{
		"containerd.toml":      fmt.Sprintf(containerdConfig, c.dir),
		"cni/10-pods.conflist": fmt.Sprintf(cniConfig, c.place.pods(), 200+c.place.number, c.place.node()),
		"kubelet.yaml":         fmt.Sprintf(kubeletConfig, c.place.node(), c.place.dns(), resolv),
		"Corefile":             fmt.Sprintf(corefile, c.place.dns(), c.Kubeconfig(), c.Name),
		"resolv.conf":          "nameserver " + c.place.dns() + "\n",
	} {
		if err := os.WriteFile(c.file(name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("cluster %q: %w", c.Name, err)
		}
	}
	if err := copyStore(store, c.file("var/lib/containerd")); err != nil {
		return fmt.Errorf("cluster %q: unpack images: %w", c.Name, err)
	}
	return nil
}

// startNode starts what a machine of the cluster runs and waits until its container runtime answers.
func (c *Cluster) startNode(ctx context.Context) error {
	if err := os.RemoveAll(c.file("holder.ready")); err != nil {
		return err
	}
	s := c.spec(roleHolder)
	s.Args = []string{"unshare", "--mount", "--propagation", "private", "--", "sh", "-c", holderScript, "holder", c.dir}
	if _, err := c.fleet.table.Start(s); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := c.poll(ctx, "the node's file systems", 20*time.Millisecond, func() (string, error) {
		if _, err := os.Stat(c.file("holder.ready")); err != nil {
			return "see " + s.Log, nil //nolint:nilerr // Not there yet is what is waited for.
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	if err := c.start(RoleContainerd); err != nil {
		return err
	}
	err = c.poll(ctx, "containerd", 100*time.Millisecond, func() (string, error) {
		if out, err := c.ctr(ctx, "version").CombinedOutput(); err != nil {
			return string(out), nil //nolint:nilerr // Not there yet is what is waited for.
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	for _, role := range []string{RoleKubelet, RoleProxy, RoleDNS} {
		if err := c.start(role); err != nil {
			return err
		}
	}
	return nil
}

// nodeProgram is the program of a role that runs inside the node's mount namespace.
func (c *Cluster) nodeProgram(role string) (process.Spec, error) {
	holder, err := c.fleet.table.Lookup(c.record(roleHolder))
	if err != nil {
		return process.Spec{}, fmt.Errorf("cluster %q: the node is off: %w", c.Name, err)
	}
	s := c.spec(role, "--config="+c.file("containerd.toml"))
	if role == RoleKubelet {
		s = c.spec(role, "--config="+c.file("kubelet.yaml"), "--kubeconfig="+c.Kubeconfig(),
			"--hostname-override="+c.place.nodeName(), "--node-ip="+c.place.node(),
			"--node-labels=topology.kubernetes.io/region="+c.place.region()+",topology.kubernetes.io/zone="+c.place.zone())
	}
	s.MountNS = holder.PID
	s.Env = append(s.Env, "PATH="+c.fleet.bin+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	return s, nil
}

// reportsWithin is how long a kubelet that runs may take to report before it is started anew, once, as a machine's service
// manager starts one that has ended.
const reportsWithin = time.Minute

func (c *Cluster) runs(role string) bool {
	p, err := c.fleet.table.Lookup(c.record(role))
	return err == nil && p.Running()
}

// startAnew ends a program of the cluster, if it runs still, and starts it.
func (c *Cluster) startAnew(ctx context.Context, role string) error {
	if err := c.Kill(ctx, role); err != nil {
		return err
	}
	return c.start(role)
}

// lastOf is the end of a program's log.
func (c *Cluster) lastOf(role string) string {
	text, err := os.ReadFile(c.spec(role).Log)
	if err != nil {
		return err.Error()
	}
	return tail(string(text), 3)
}

// waitNode waits until the node is Ready and takes pods. What the node said before the given time does not count: after a
// power-off the API server still shows the node as it was.
func (c *Cluster) waitNode(ctx context.Context, since time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	client, err := c.Client()
	if err != nil {
		return err
	}
	asked, anew := time.Now(), false
	return c.poll(ctx, "node Ready", 300*time.Millisecond, func() (string, error) {
		lease, err := client.CoordinationV1().Leases("kube-node-lease").Get(ctx, c.place.nodeName(), metav1.GetOptions{})
		if err != nil {
			return err.Error(), nil //nolint:nilerr // It may come yet; the limit ends the wait.
		}
		if lease.Spec.RenewTime == nil || lease.Spec.RenewTime.Time.Before(since) {
			if !anew && (!c.runs(RoleKubelet) || time.Since(asked) > reportsWithin) {
				anew = true
				return "its kubelet is started anew", c.startAnew(ctx, RoleKubelet)
			}
			return "its kubelet has not reported; its log ends: " + c.lastOf(RoleKubelet), nil
		}
		node, err := client.CoreV1().Nodes().Get(ctx, c.place.nodeName(), metav1.GetOptions{})
		if err != nil {
			return err.Error(), nil //nolint:nilerr // It may come yet; the limit ends the wait.
		}
		return notReady(node), nil
	})
}

// notReady says why a node takes no pods; empty when it does.
func notReady(node *corev1.Node) string {
	if len(node.Spec.Taints) > 0 {
		return "it has the taint " + node.Spec.Taints[0].Key
	}
	for _, cond := range node.Status.Conditions {
		if cond.Type == corev1.NodeReady {
			if cond.Status == corev1.ConditionTrue {
				return ""
			}
			return cond.Message
		}
	}
	return "it has no status"
}

// logDir is where the cluster's programs write.
func (c *Cluster) logDir() string { return filepath.Join(c.dir, "log") }
