// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/mesh/prover"
	"github.com/weir-io/weir/mesh/prover/census"
)

// Ports of istiod.
const (
	portXDS   = "15012"
	portDebug = "15014"
)

// snapshot is the member as the prover asks for it.
func (x *index) snapshot() prover.Snapshot {
	return prover.Snapshot{Istiods: x.istiodPods(), Pods: x.census(), Scopes: x.scopes()}
}

// istiodPods are the istiods that may hold connections: one that is going, or not ready, may as well.
func (x *index) istiodPods() []prover.IstiodPod {
	var out []prover.IstiodPod
	for _, p := range x.istiods {
		if p.Status.PodIP == "" {
			continue // Nothing can be connected to it yet.
		}
		status := containerStatus(p, discoveryContainer)
		out = append(out, prover.IstiodPod{
			Name:    p.Name,
			UID:     string(p.UID),
			Process: status.ContainerID,
			XDS:     net.JoinHostPort(p.Status.PodIP, portXDS),
			Debug:   net.JoinHostPort(p.Status.PodIP, portDebug),
		})
	}
	return out
}

// census lists the pods with a proxy, in any namespace, and those that a global Service chooses.
func (x *index) census() []census.Pod {
	served := map[types.UID]bool{}
	for _, pods := range x.behind {
		for _, p := range pods {
			served[p.UID] = true
		}
	}
	var out []census.Pod
	for _, all := range x.pods {
		for _, p := range all {
			proxy, kind := proxyOf(p)
			if p.Spec.NodeName == "" || proxy == nil && !served[p.UID] {
				continue // A pod without a node runs nothing yet.
			}
			out = append(out, censusPod(p, kind))
		}
	}
	slices.SortFunc(out, func(a, b census.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func censusPod(p *corev1.Pod, kind census.Kind) census.Pod {
	status := containerStatus(p, proxyContainer)
	out := census.Pod{
		Namespace:     p.Namespace,
		Name:          p.Name,
		UID:           string(p.UID),
		Labels:        p.Labels,
		Kind:          kind,
		Phase:         phase(p, kind, status),
		ProxyRestarts: status.RestartCount,
		Created:       p.CreationTimestamp.Time,
	}
	if ip, err := netip.ParseAddr(p.Status.PodIP); err == nil {
		out.IP = ip.Unmap()
	}
	return out
}

// phase tells where in its life a pod's proxy is, or the pod itself where it has none.
func phase(p *corev1.Pod, kind census.Kind, proxy *corev1.ContainerStatus) census.Phase {
	up := proxy.Ready
	if kind == census.KindNone {
		up = p.Status.Phase == corev1.PodRunning
	}
	switch {
	case isDone(p):
		return census.PhaseDone
	case p.DeletionTimestamp != nil:
		return census.PhaseTerminating
	case up:
		return census.PhaseRunning
	}
	return census.PhaseStarting
}

// scopes gives each namespace a value that changes with what its proxies may see: its own Sidecars and the root's.
func (x *index) scopes() map[string]string {
	texts := map[string][]string{} // by namespace
	for _, u := range x.rules {
		if u.GetKind() != "Sidecar" {
			continue
		}
		spec, err := json.Marshal(u.Object["spec"])
		if err != nil {
			spec = []byte(u.GetResourceVersion()) // Changes too often rather than too seldom.
		}
		texts[u.GetNamespace()] = append(texts[u.GetNamespace()], u.GetName()+" "+string(spec))
	}
	if len(texts) == 0 {
		return nil
	}
	digest := func(namespaces ...string) string {
		h := sha256.New()
		for _, ns := range namespaces {
			slices.Sort(texts[ns])
			for _, t := range texts[ns] {
				h.Write([]byte(t + "\n"))
			}
			h.Write([]byte{0})
		}
		return hex.EncodeToString(h.Sum(nil)[:8])
	}
	out := map[string]string{}
	root := x.root()
	for ns := range texts {
		out[ns] = digest(ns, root)
	}
	if len(texts[root]) > 0 {
		for ns := range x.pods {
			out[ns] = digest(ns, root)
		}
	}
	return out
}
