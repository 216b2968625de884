// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/mesh/istio"
	"github.com/weir-io/weir/resview/pb"
)

// renderInput says what the rules of one config cluster are made from.
func renderInput(in *input, spec v1alpha1.GlobalServiceSpec, policy v1alpha1.TrafficPolicySpec, ports []v1alpha1.ServicePort, config memberView) istio.Input {
	out := istio.Input{
		Service:         istio.Service{Namespace: in.key.Namespace, Name: in.key.Name},
		ConfigCluster:   config.name,
		ConfigNetwork:   networkOf(config),
		Generation:      max(spec.Generation, 1),
		Retries:         retriesOf(policy),
		SystemNamespace: in.config.SystemNamespace,
		RootNamespace:   config.member.GetMeshRootNamespace(),
	}
	if policy.Clients != nil {
		out.ClientNamespaces = append(slices.Clone(policy.Clients.Namespaces), in.key.Namespace)
	}
	for _, p := range ports {
		out.Service.Ports = append(out.Service.Ports, istio.Port{Name: p.Name, Number: p.Port, Protocol: p.Protocol, AppProtocol: p.AppProtocol})
	}
	for _, m := range in.exporters() {
		c := istio.Cluster{Name: m.name, IstioID: m.cluster.IstioID(), Network: networkOf(m), Endpoints: readyPods(m.facts.GetPods())}
		if m.left {
			c.Network = out.ConfigNetwork // nobody knows; nothing is there to be reached
		}
		for _, p := range spec.Clusters {
			if p.Name == m.name {
				c.Permille = p.Weight
			}
		}
		out.Clusters = append(out.Clusters, c)
		for _, g := range eastWestOf(m) {
			out.Gateways = append(out.Gateways, istio.Gateway{
				Cluster: m.name, Network: networkOf(m), Addresses: int32(len(g.Addresses)), //nolint:gosec // bounded by the messages' limits.
			})
		}
		if out.Service.TrafficDistribution == "" {
			out.Service.TrafficDistribution = m.facts.GetTrafficDistribution()
		}
	}
	evenly(out.Clusters)
	return out
}

// evenly stands in for weights that are not planned yet: subsets are rendered, and proven, before any weight is.
func evenly(clusters []istio.Cluster) {
	for _, c := range clusters {
		if c.Permille > 0 {
			return
		}
	}
	for i := range clusters {
		clusters[i].Permille = 1000 / int32(len(clusters)) //nolint:gosec // bounded by the number of Clusters.
	}
	if len(clusters) > 0 {
		clusters[0].Permille += 1000 % int32(len(clusters)) //nolint:gosec // as above.
	}
}

// networkOf is the member's network; when it is not heard, what it said last.
func networkOf(m memberView) string {
	if m.member != nil {
		return m.member.GetNetwork()
	}
	if m.cluster.Status.Istio != nil {
		return m.cluster.Status.Istio.Network
	}
	return ""
}

func retriesOf(p v1alpha1.TrafficPolicySpec) istio.Retries {
	switch p.Retries.Mode {
	case v1alpha1.RetryIdempotent:
		return istio.Idempotent
	case v1alpha1.RetrySafe:
		return istio.Safe
	case v1alpha1.RetryAuto:
	}
	return istio.Auto
}

// rulesOf returns what shall stand in a member for the phase that the plan is in.
func rulesOf(rendered istio.Rules, phase v1alpha1.RulesPhase) []map[string]any {
	switch phase {
	case v1alpha1.RulesDestinationRules:
		return rendered.DestinationRules
	case v1alpha1.RulesWeights:
		return slices.Concat(rendered.DestinationRules, rendered.VirtualServices)
	case v1alpha1.RulesNone:
	}
	return nil
}

func ruleKey(o map[string]any) string {
	u := unstructured.Unstructured{Object: o}
	return u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
}

// portsOf merges the ports of all exports by name, then protocol and number; the oldest export's come first.
func portsOf(in *input) []v1alpha1.ServicePort {
	exporters := slices.DeleteFunc(in.exporters(), func(m memberView) bool { return m.facts == nil })
	slices.SortStableFunc(exporters, func(a, b memberView) int {
		return int(a.facts.GetCreatedUnix() - b.facts.GetCreatedUnix())
	})
	var out []v1alpha1.ServicePort
	for _, m := range exporters {
		for _, p := range m.facts.GetPorts() {
			if !possible(p) || slices.ContainsFunc(out, func(have v1alpha1.ServicePort) bool { return clashes(have, p) }) {
				continue
			}
			out = append(out, v1alpha1.ServicePort{
				Name: p.GetName(), Port: p.GetPort(), Protocol: protocol(p), AppProtocol: hub.Clip(p.GetAppProtocol(), 128),
			})
		}
	}
	if len(out) == 0 && in.service != nil {
		return in.service.Status.Ports
	}
	return out
}

func clashes(have v1alpha1.ServicePort, p *pb.Port) bool {
	return have.Name == p.GetName() || have.Port == p.GetPort() && have.Protocol == protocol(p)
}

// possible says whether an API server may have such a port. What a member makes up must not spoil the status of a service
// that others serve as well.
func possible(p *pb.Port) bool {
	return p.GetPort() > 0 && len(p.GetName()) <= 63 && slices.Contains([]string{"TCP", "UDP", "SCTP"}, protocol(p))
}

func protocol(p *pb.Port) string {
	if p.GetProtocol() == "" {
		return "TCP"
	}
	return p.GetProtocol()
}
