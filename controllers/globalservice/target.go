// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"slices"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/istio"
	"github.com/weir-io/weir/resview/pb"
)

// targetOf is what every member's prover is asked to prove of a service.
func targetOf(in *input, spec v1alpha1.GlobalServiceSpec, ports []v1alpha1.ServicePort, moving bool) *pb.Target {
	t := &pb.Target{
		Ref:   &pb.ServiceRef{Namespace: in.key.Namespace, Name: in.key.Name},
		Hosts: []string{istio.HostName(in.key.Name, in.key.Namespace, istio.DefaultDomain)},
		Phase: string(spec.Phase), FenceGeneration: spec.FenceGeneration, Active: moving,
	}
	if hasRules(spec) {
		t.Generation = spec.Generation
	}
	for _, p := range ports {
		t.Ports = append(t.Ports, &pb.Port{Name: p.Name, Port: p.Port, Protocol: p.Protocol, AppProtocol: p.AppProtocol})
	}
	for _, m := range in.exporters() {
		t.Subsets = append(t.Subsets, istio.SubsetName(m.name))
		fencedWhole := m.facts != nil
		for _, p := range m.facts.GetPods() {
			if p.GetTerminating() || p.GetIp() == "" {
				continue
			}
			a := &pb.FencedAddress{Ip: p.GetIp(), Network: networkOf(m), Cluster: m.name}
			switch {
			case p.GetFenced():
				t.Fenced = append(t.Fenced, a)
			case p.GetReady():
				t.Open = append(t.Open, a)
				fencedWhole = false
			}
		}
		if fencedWhole && len(m.facts.GetPods()) > 0 {
			t.Fenced = append(t.Fenced, gatewaysOf(m)...)
		}
	}
	slices.Sort(t.Subsets)
	return t
}

// gatewaysOf are the addresses under which other networks reach the member.
func gatewaysOf(m memberView) []*pb.FencedAddress {
	var out []*pb.FencedAddress
	for _, g := range eastWestOf(m) {
		for _, a := range g.Addresses {
			out = append(out, &pb.FencedAddress{Ip: a, Network: networkOf(m), Cluster: m.name, Gateway: true})
		}
	}
	return out
}

// eastWestOf are the gateways by which other networks reach the member; when it was not heard in this life of the hub,
// those it told of last: a hub that starts while a member is off must still be able to write the others' rules.
func eastWestOf(m memberView) []v1alpha1.EastWestGateway {
	if m.member == nil {
		if i := m.cluster.Status.Istio; i != nil {
			return i.Gateways
		}
		return nil
	}
	var out []v1alpha1.EastWestGateway
	for _, g := range m.member.GetGateways() {
		if g.GetEastWest() {
			out = append(out, v1alpha1.EastWestGateway{Name: g.GetName(), Addresses: g.GetAddresses()})
		}
	}
	return out
}
