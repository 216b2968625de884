// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/weir-io/weir/mesh/istio"
	"github.com/weir-io/weir/mesh/prover/census"
	"github.com/weir-io/weir/resview/pb"
)

// defaultClusterID is what an istiod calls its cluster when nobody named it.
const defaultClusterID = "Kubernetes"

// member puts together what concerns the whole member.
func (x *index) member(book *ruleBook) *pb.MemberFacts {
	out := &pb.MemberFacts{
		IstioVersion:      line(x.istioVersion(), maxName),
		MeshRootNamespace: line(x.root(), maxName),
		AmbientNamespaces: slices.Sorted(maps.Keys(x.ambient)),
		FenceAdmission:    x.settings.fenceAdmission,
		Network:           x.network(),
		IstioClusterId:    line(x.clusterID(), maxName),
		Proxies:           x.proxies(),
	}
	for _, p := range x.istiods[:min(len(x.istiods), maxIstiods)] {
		out.Istiods = append(out.Istiods, &pb.Istiod{Name: p.Name, Uid: string(p.UID), Address: p.Status.PodIP, Ready: isReady(p)})
	}
	gateways := x.gatewayPods()
	for _, p := range gateways[:min(len(gateways), maxGateways)] {
		out.Gateways = append(out.Gateways, x.gateway(p))
	}
	out.AmbientNamespaces = out.AmbientNamespaces[:min(len(out.AmbientNamespaces), maxNamespaces)]
	out.Findings = x.preflight(book, gateways)
	return out
}

// proxies counts the pods with a proxy. They follow what they were told last also while no istiod runs.
func (x *index) proxies() uint32 {
	n := uint32(0)
	for _, p := range x.census() {
		if p.Kind != census.KindNone && p.Phase != census.PhaseDone {
			n++
		}
	}
	return n
}

// network is the one that pods of this member belong to where nothing else is said; empty where all share one.
func (x *index) network() string {
	for _, n := range x.namespaces {
		if n.Name == x.istioNamespace {
			return n.Labels[labelNetwork]
		}
	}
	return ""
}

// clusterIDs are the names by which the istiods call this cluster: one, if all is well.
func (x *index) clusterIDs() []string {
	ids := map[string]bool{}
	for _, p := range x.istiods {
		ids[cmp.Or(env(discoveryOf(p), "CLUSTER_ID"), defaultClusterID)] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

func (x *index) clusterID() string {
	if ids := x.clusterIDs(); len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// istioVersion is the version of the istiods, the oldest where they differ: no more can be relied on. Empty: not known.
func (x *index) istioVersion() string {
	var oldest string
	for _, p := range x.istiods {
		v := x.settings.versions[processOf(p)]
		if v != "" && (oldest == "" || compareVersions(v, oldest) < 0) {
			oldest = v
		}
	}
	return oldest
}

// domain is the domain of Services, as istiod was told.
func (x *index) domain() string {
	for _, p := range x.istiods {
		c := discoveryOf(p)
		if c == nil {
			continue
		}
		for i, a := range c.Args {
			if v, ok := strings.CutPrefix(a, "--domain="); ok && v != "" {
				return v
			}
			if a == "--domain" && i+1 < len(c.Args) {
				return c.Args[i+1]
			}
		}
	}
	return istio.DefaultDomain
}

// discoveryOf returns the container that runs istiod; nil for none.
func discoveryOf(p *corev1.Pod) *corev1.Container {
	for i := range p.Spec.Containers {
		if p.Spec.Containers[i].Name == discoveryContainer {
			return &p.Spec.Containers[i]
		}
	}
	return nil
}

// processOf names a run of an istiod: it changes whenever its container starts anew.
func processOf(p *corev1.Pod) string {
	status := containerStatus(p, discoveryContainer)
	return string(p.UID) + " " + status.ContainerID
}
