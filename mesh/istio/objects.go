// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// APIVersion is the version of Istio's networking API that rules are written in.
const APIVersion = "networking.istio.io/v1"

// object makes the frame of a rule.
func (in Input) object(kind, name string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": APIVersion,
		"kind":       kind,
		"metadata": map[string]any{
			"name":      name,
			"namespace": in.Service.Namespace,
			"labels": map[string]any{
				LabelManagedBy: ManagedBy,
				LabelService:   in.Service.Name,
			},
		},
		"spec": spec,
	}
}

// destinationRule renders the reflex for one host.
func (in Input) destinationRule(h host, rules Rules) map[string]any {
	spec := map[string]any{"host": h.name, "exportTo": in.exportTo()}
	if len(rules.WeightedPorts) == 0 {
		spec["trafficPolicy"] = in.ejectionAlone(in.idles())
		return in.object("DestinationRule", h.object, spec)
	}
	policy := map[string]any{}
	if len(rules.FenceOnlyPorts) > 0 {
		policy["portLevelSettings"] = in.portEjection(rules.FenceOnlyPorts)
	}
	if in.idles() {
		// Who follows no weights, such as an ingress gateway with routes of its own, names no subset.
		policy["connectionPool"] = map[string]any{"http": in.idleTimeout()}
	}
	if len(policy) > 0 {
		spec["trafficPolicy"] = policy
	}
	subsets := make([]any, 0, len(in.Clusters))
	for _, c := range byName(in.Clusters) {
		subsets = append(subsets, in.subset(c))
	}
	spec["subsets"] = subsets
	return in.object("DestinationRule", h.object, spec)
}

// subset renders one cluster's subset. Preference and ejection stand in the same
// policy: istiod makes no priorities without ejection, and says nothing.
func (in Input) subset(c Cluster) map[string]any {
	s := map[string]any{"name": SubsetName(c.Name)}
	ejection := in.ejection(c.Name == in.ConfigCluster)
	if in.Subsets == HardSubset {
		s["labels"] = map[string]any{LabelCluster: c.istioID()}
		s["trafficPolicy"] = map[string]any{
			"loadBalancer":     balancer(map[string]any{"enabled": false}),
			"outlierDetection": ejection,
			"connectionPool":   in.connections(in.idles()),
		}
		return s
	}
	s["trafficPolicy"] = map[string]any{
		"loadBalancer": balancer(map[string]any{
			"enabled": true,
			// The cluster label alone: an address that stands in for another
			// network's pods carries no region or zone.
			"failoverPriority": []any{LabelCluster + "=" + c.istioID()},
		}),
		"outlierDetection": ejection,
		"connectionPool":   in.connections(in.idles()),
	}
	return s
}

// connections renders when a connection that does not come about is given up, and whether one that carries nothing is.
func (in Input) connections(idles bool) map[string]any {
	pool := map[string]any{"tcp": map[string]any{"connectTimeout": duration(in.Reflex.ConnectTimeout)}}
	if idles {
		pool["http"] = in.idleTimeout()
	}
	return pool
}

func (in Input) idleTimeout() map[string]any {
	return map[string]any{"idleTimeout": duration(in.Reflex.IdleAcrossNetworks)}
}

// idles tells whether connections that carry nothing are closed: where any of the Service's clusters is in another network than
// the proxies, and requests are told apart. Each subset may lead there, if only when its own cluster has no endpoint left.
func (in Input) idles() bool {
	return slices.ContainsFunc(in.Clusters, func(c Cluster) bool { return c.Network != in.ConfigNetwork }) &&
		slices.ContainsFunc(in.Service.Ports, func(p Port) bool { return p.protocol().carriesHTTP() })
}

// ejectionAlone is a policy that leaves the balancing between endpoints as it
// was: ejection would else switch on the mesh's locality preference. A Service
// that asks for a distribution of its own keeps that, which only works as long as
// the rule says nothing of balancing.
func (in Input) ejectionAlone(idles bool) map[string]any {
	policy := map[string]any{"outlierDetection": in.ejection(false), "connectionPool": in.connections(idles)}
	if in.Service.TrafficDistribution == "" {
		policy["loadBalancer"] = balancer(map[string]any{"enabled": false})
	}
	return policy
}

func (in Input) portEjection(ports []int32) []any {
	out := make([]any, len(ports))
	for i, p := range ports {
		policy := in.ejectionAlone(false) // no HTTP there: what idles may be in use
		policy["port"] = map[string]any{"number": int64(p)}
		out[i] = policy
	}
	return out
}

// ejection renders when an endpoint is left out. Errors that an answer brings
// count only where endpoints are pods, that is in the config cluster's own.
func (in Input) ejection(own bool) map[string]any {
	r := in.Reflex
	e := map[string]any{
		"baseEjectionTime":               duration(r.BaseEjection),
		"consecutive5xxErrors":           int64(consecutive5xxErrors),
		"consecutiveLocalOriginFailures": int64(r.LocalOriginFailures),
		"interval":                       duration(r.Interval),
		"maxEjectionPercent":             int64(maxEjectionPercent),
		"minHealthPercent":               int64(minHealthPercent),
		"splitExternalLocalOriginErrors": true,
	}
	if own {
		e["consecutiveGatewayErrors"] = int64(r.GatewayErrors)
	}
	return e
}

func balancer(locality map[string]any) map[string]any {
	return map[string]any{"localityLbSetting": locality}
}

// virtualService renders the weights for one host. Each port has routes of its
// own, so that retries can follow its protocol.
func (in Input) virtualService(h host, ports []Port, weights []Weight) map[string]any {
	var http, tcp []any
	for _, p := range ports {
		proto := p.protocol()
		if proto.carriesHTTP() {
			http = append(http, in.httpRoutes(h, p, weights)...)
		}
		if in.Subsets == HardSubset && (proto == protocolTCP || proto == protocolDetect) {
			tcp = append(tcp, map[string]any{
				"match": []any{map[string]any{"port": int64(p.Number)}},
				"route": destinations(h, p, weights),
			})
		}
	}
	spec := map[string]any{
		"exportTo": in.exportTo(),
		"gateways": []any{meshGateway},
		"hosts":    []any{h.name},
	}
	if http != nil {
		spec["http"] = http
	}
	if tcp != nil {
		spec["tcp"] = tcp
	}
	o := in.object("VirtualService", h.object, spec)
	labels := o["metadata"].(map[string]any)["labels"].(map[string]any)
	labels[LabelGeneration] = strconv.FormatInt(in.Generation, 10)
	return o
}

// meshGateway is Istio's word for all sidecars.
const meshGateway = "mesh"

// readMethods matches the methods that HTTP calls safe and that people send.
const readMethods = "GET|HEAD|OPTIONS"

// httpRoutes renders one route of a port, or two where reads may be retried more
// freely than the rest. A second route costs no Envoy cluster.
func (in Input) httpRoutes(h host, p Port, weights []Weight) []any {
	route := func(branch Branch, match map[string]any, retryOn []string) map[string]any {
		match["port"] = int64(p.Number)
		return map[string]any{
			"name":  RouteName(in.Generation, p.Number, branch),
			"match": []any{match},
			"route": destinations(h, p, weights),
			"retries": map[string]any{
				"attempts":              int64(in.Reflex.Attempts),
				"retryOn":               strings.Join(retryOn, ","),
				"retryRemoteLocalities": true,
			},
		}
	}
	wide, safe := in.Reflex.RetryOnWide, in.Reflex.RetryOnSafe
	switch {
	case in.Retries == Idempotent:
		return []any{route(BranchAll, map[string]any{}, wide)}
	case in.Retries == Safe, p.protocol() == protocolGRPC:
		return []any{route(BranchAll, map[string]any{}, safe)}
	}
	return []any{
		route(BranchReads, map[string]any{"method": map[string]any{"regex": readMethods}}, wide),
		route(BranchRest, map[string]any{}, safe),
	}
}

func destinations(h host, p Port, weights []Weight) []any {
	out := make([]any, len(weights))
	for i, w := range weights {
		out[i] = map[string]any{
			"destination": map[string]any{
				"host":   h.name,
				"port":   map[string]any{"number": int64(p.Number)},
				"subset": w.Subset,
			},
			"weight": int64(w.Percent),
		}
	}
	return out
}

// duration writes a duration as protobuf's JSON does.
func duration(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}
