// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"cmp"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"
)

// Rules are what stands in one config cluster for one Service. Each object holds
// only JSON's types, with int64 for numbers, so it can be applied as it is; it
// holds no field but those that weir owns.
type Rules struct {
	// DestinationRules are to be applied, and proven, before VirtualServices, and
	// removed after them: a route to a subset that no proxy knows is answered 503.
	DestinationRules []map[string]any
	VirtualServices  []map[string]any

	// Weights are the written weights by cluster name; nil where there are none.
	Weights []Weight
	// WeightedPorts follow Weights, at least for HTTP.
	WeightedPorts []int32
	// FenceOnlyPorts have no weights: only the fence moves their traffic.
	FenceOnlyPorts []int32
}

// Render makes the rules of one Service for one config cluster. With a reason
// that blocks, the rules are empty and nothing that stands may be removed for it.
func Render(in Input) (Rules, []Reason) {
	in = in.withDefaults()
	if reasons := check(in); len(reasons) > 0 {
		return Rules{}, sortReasons(reasons)
	}
	ports := steerable(in.Service.Ports)
	if len(ports) == 0 {
		return Rules{}, []Reason{{Code: NoPorts, Message: fmt.Sprintf("service %s/%s has no port that the mesh carries", in.Service.Namespace, in.Service.Name)}}
	}
	if len(in.Clusters) < 2 {
		return Rules{}, []Reason{{Code: SingleCluster, Message: fmt.Sprintf("service %s/%s is in %d cluster: nothing to weigh", in.Service.Namespace, in.Service.Name, len(in.Clusters))}}
	}
	var rules Rules
	var reasons []Reason
	for _, p := range ports {
		weighted, why := in.weighs(p)
		reasons = append(reasons, why...)
		if weighted {
			rules.WeightedPorts = append(rules.WeightedPorts, p.Number)
		} else {
			rules.FenceOnlyPorts = append(rules.FenceOnlyPorts, p.Number)
		}
	}
	if len(rules.WeightedPorts) > 0 {
		weights, why := writtenWeights(in)
		reasons = append(reasons, append(why, checkGateways(in)...)...)
		reasons = append(reasons, replaced(in)...)
		rules.Weights = weights
	}
	if Blocked(reasons) {
		return Rules{}, sortReasons(reasons)
	}
	for _, h := range in.hosts() {
		rules.DestinationRules = append(rules.DestinationRules, in.destinationRule(h, rules))
		if rules.Weights != nil {
			rules.VirtualServices = append(rules.VirtualServices, in.virtualService(h, ports, rules.Weights))
		}
	}
	return rules, sortReasons(reasons)
}

// weighs says whether a port gets weights and, where not or not fully, why.
func (in Input) weighs(p Port) (bool, []Reason) {
	reason := func(code ReasonCode, why string) Reason {
		return Reason{Code: code, Port: p.Number, Message: fmt.Sprintf("port %d: %s", p.Number, why)}
	}
	if in.Steering == OnDemand {
		return false, []Reason{reason(FenceOnly, "steering is OnDemand, so traffic follows the endpoints and the fence alone moves it")}
	}
	proto := p.protocol()
	hard := in.Subsets == HardSubset
	switch {
	case proto == protocolTLS:
		return false, []Reason{reason(FenceOnly, "TLS is passed through; a route would have to list every server name that clients send, and cut off the others, so the fence alone moves it")}
	case proto == protocolTCP && !hard:
		return false, []Reason{reason(FenceOnly, "TCP connections stay where they are until closed, and a weight edit would cut them, so the fence alone moves it")}
	}
	var reasons []Reason
	if hard {
		reasons = append(reasons, reason(NoSpill, "subsets are hard: a cluster that dies keeps its share of errors until its weight is moved"))
	}
	switch {
	case proto == protocolTCP || proto == protocolDetect && hard:
		reasons = append(reasons, reason(LongConnections, "a weight edit cuts TCP connections older than the proxies' drain time, 45 s by default"))
	case proto == protocolDetect:
		reasons = append(reasons, reason(FenceOnly, "its protocol is undeclared: what proxies detect as HTTP has weights, the rest is moved by the fence alone; set appProtocol"))
	}
	return true, reasons
}

// replaced tells of settings whose place the rules take.
func replaced(in Input) []Reason {
	if in.Service.TrafficDistribution == "" {
		return nil
	}
	return []Reason{{Code: Replaced, Message: fmt.Sprintf(
		"trafficDistribution %q of service %s/%s has no effect on ports with weights: a rule's balancing goes before it",
		in.Service.TrafficDistribution, in.Service.Namespace, in.Service.Name)}}
}

// steerable returns the ports that the mesh carries, by number.
func steerable(ports []Port) []Port {
	out := slices.DeleteFunc(slices.Clone(ports), func(p Port) bool { return p.protocol() == protocolUDP })
	slices.SortFunc(out, func(a, b Port) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

func (in Input) withDefaults() Input {
	in.Reflex = in.Reflex.withDefaults()
	in.Steering = cmp.Or(in.Steering, Always)
	in.Retries = cmp.Or(in.Retries, Auto)
	in.Subsets = cmp.Or(in.Subsets, Preference)
	in.SystemNamespace = cmp.Or(in.SystemNamespace, DefaultSystemNamespace)
	in.RootNamespace = cmp.Or(in.RootNamespace, in.SystemNamespace)
	in.Domain = cmp.Or(in.Domain, DefaultDomain)
	return in
}

// host is one name of the Service, with the name of the objects for it.
type host struct{ name, object string }

// hosts lists the names that get rules. In istiod they are services apart, so
// each has a DestinationRule and a VirtualService of its own.
func (in Input) hosts() []host {
	s := in.Service
	hs := []host{{HostName(s.Name, s.Namespace, in.Domain), ObjectName(s.Name, false)}}
	if in.ClusterSetHost {
		hs = append(hs, host{HostName(s.Name, s.Namespace, ClusterSetDomain), ObjectName(s.Name, true)})
	}
	return hs
}

// everyone in exportTo stands for all namespaces.
const everyone = "*"

// clients are the namespaces with callers, each once. The Service's own is one.
func (in Input) clients() []string {
	if len(in.ClientNamespaces) == 0 || slices.Contains(in.ClientNamespaces, everyone) {
		return []string{everyone}
	}
	return slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(in.ClientNamespaces), in.Service.Namespace))))
}

// exportTo is who may see the rules. It is never left out: a mesh may default it
// to the own namespace, where a canary in the system namespace is blind to it.
// Gateways are named too, since the receiving side must know the subsets.
func (in Input) exportTo() []any {
	ns := in.clients()
	if ns[0] == everyone {
		return []any{everyone}
	}
	ns = append(ns, in.SystemNamespace)
	for _, g := range in.Gateways {
		ns = append(ns, cmp.Or(g.Namespace, in.SystemNamespace))
	}
	slices.Sort(ns)
	return anyList(slices.Compact(ns))
}

// YAML writes the rules as one document an object, DestinationRules first, with
// sorted keys.
func (r Rules) YAML() (string, error) {
	var out []byte
	for _, o := range slices.Concat(r.DestinationRules, r.VirtualServices) {
		doc, err := yaml.Marshal(o)
		if err != nil {
			return "", fmt.Errorf("write rule as YAML: %w", err)
		}
		out = append(append(out, "---\n"...), doc...)
	}
	return string(out), nil
}

func anyList[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}
