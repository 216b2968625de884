// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net/netip"
	"strings"

	"github.com/weir-io/weir/mesh/istio"
	"github.com/weir-io/weir/mesh/prover"
	"github.com/weir-io/weir/mesh/prover/census"
	"github.com/weir-io/weir/resview/pb"
)

// targetsOf turns what the hub asks into what the prover watches. selectors are those of the Services here: they say
// whose arrivals count.
func targetsOf(asked []*pb.Target, selectors map[prover.Key]map[string]string) []prover.Target {
	out := make([]prover.Target, 0, len(asked))
	for _, a := range asked {
		t := prover.Target{
			Namespace: a.GetRef().GetNamespace(), Name: a.GetRef().GetName(), Hosts: a.GetHosts(),
			FenceGeneration: a.GetFenceGeneration(), Active: a.GetActive(),
		}
		if a.GetPhase() == phaseWeights {
			t.Generation = a.GetGeneration()
		}
		if a.GetPhase() == phaseRules || a.GetPhase() == phaseWeights {
			t.Subsets = a.GetSubsets()
		}
		for _, p := range a.GetPorts() {
			t.Ports = append(t.Ports, portOf(p, a.GetHosts()))
		}
		for _, f := range a.GetFenced() {
			if f.GetGateway() {
				t.Gateways = appendAddress(t.Gateways, f)
			} else {
				t.Fenced = appendAddress(t.Fenced, f)
			}
		}
		for _, o := range a.GetOpen() {
			t.Served = appendAddress(t.Served, o)
		}
		t.Selector = selectors[t.Key()]
		out = append(out, t)
	}
	return out
}

func portOf(p *pb.Port, hosts []string) prover.Port {
	out := prover.Port{Number: p.GetPort()}
	if len(hosts) == 0 {
		return out
	}
	name := istio.RouteConfigName(istio.Port{Name: p.GetName(), Number: p.GetPort(), Protocol: p.GetProtocol(), AppProtocol: p.GetAppProtocol()}, hosts[0])
	out.Routed = name != ""
	out.Detected = strings.Contains(name, ":")
	return out
}

// Phases as the hub names them.
const (
	phaseRules   = "DestinationRules"
	phaseWeights = "Weights"
)

// appendAddress leaves out what is no address: the hub was told it by a member, which may be hostile.
func appendAddress(list []prover.Address, f *pb.FencedAddress) []prover.Address {
	ip, err := netip.ParseAddr(f.GetIp())
	if err != nil {
		return list
	}
	return append(list, prover.Address{IP: ip, Network: f.GetNetwork()})
}

// gatewayLabel groups the pods of one gateway; Istio puts it on each.
const gatewayLabel = "service.istio.io/canonical-name"

// gatewayTargets ask for nothing to be proven: they make the prover measure the member's own gateways, which must fall
// quiet before a drained cluster is safe to power off.
func gatewayTargets(pods []census.Pod, active bool) []prover.Target {
	seen := map[prover.Key]bool{}
	var out []prover.Target
	for _, p := range pods {
		name := p.Labels[gatewayLabel]
		key := prover.Key{Namespace: p.Namespace, Name: gatewayPrefix + name}
		if p.Kind != census.KindGateway || name == "" || seen[key] {
			continue
		}
		seen[key] = true
		out = append(out, prover.Target{
			Namespace: key.Namespace, Name: key.Name, Active: active, Selector: map[string]string{gatewayLabel: name},
		})
	}
	return out
}

// gatewayPrefix keeps such a target apart from any Service: no Service's name holds a colon.
const gatewayPrefix = "gateway:"
