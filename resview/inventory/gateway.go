// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-io/weir/resview/pb"
)

// What marks a gateway that leads other networks in.
const (
	labelNetwork     = "topology.istio.io/network" // of its Service; injection puts it on every pod, so there it says nothing.
	envNetworkView   = "ISTIO_META_REQUESTED_NETWORK_VIEW"
	portPassthrough  = 15443
	modeAutoPassthru = "AUTO_PASSTHROUGH"
)

// gatewayPods are the pods of ingress, egress and east-west gateways that have not ended, sorted.
func (x *index) gatewayPods() []*corev1.Pod {
	var out []*corev1.Pod
	for _, all := range x.pods {
		for _, p := range all {
			if isRouter(p) && !isDone(p) {
				out = append(out, p)
			}
		}
	}
	slices.SortFunc(out, byName)
	return out
}

func (x *index) gateway(p *corev1.Pod) *pb.GatewayFacts {
	out := &pb.GatewayFacts{Name: p.Namespace + "/" + p.Name}
	proxy, _ := proxyOf(p)
	out.EastWest = env(proxy, envNetworkView) != ""
	for _, s := range x.services {
		if s.Namespace != p.Namespace || !selects(s.Spec.Selector, p.Labels) {
			continue
		}
		if s.Labels[labelNetwork] != "" || hasPort(s, portPassthrough) && x.passesThrough(p) {
			out.EastWest = true
		}
		out.Addresses = append(out.Addresses, reachedBy(s)...)
	}
	slices.Sort(out.Addresses)
	out.Addresses = slices.Compact(out.Addresses)
	out.Addresses = out.Addresses[:min(len(out.Addresses), maxAddresses)]
	return out
}

// reachedBy returns the addresses by which a Service is reached from outside its cluster's network.
func reachedBy(s *corev1.Service) []string {
	out := slices.Clone(s.Spec.ExternalIPs)
	for _, in := range s.Status.LoadBalancer.Ingress {
		if in.IP != "" {
			out = append(out, in.IP)
		} else if in.Hostname != "" {
			out = append(out, in.Hostname)
		}
	}
	return out
}

func hasPort(s *corev1.Service, port int32) bool {
	return slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port })
}

// passesThrough says whether an Istio Gateway makes a pod hand on connections of other networks by their SNI.
func (x *index) passesThrough(p *corev1.Pod) bool {
	return slices.ContainsFunc(x.gateways, func(g *unstructured.Unstructured) bool {
		selector, _, _ := unstructured.NestedStringMap(g.Object, "spec", "selector")
		if !selects(selector, p.Labels) {
			return false
		}
		servers, _, _ := unstructured.NestedSlice(g.Object, "spec", "servers")
		return slices.ContainsFunc(servers, func(s any) bool {
			server, _ := s.(map[string]any)
			mode, _, _ := unstructured.NestedString(server, "tls", "mode")
			return mode == modeAutoPassthru
		})
	})
}
