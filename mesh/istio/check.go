// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"fmt"
	"slices"
	"strings"
)

// retryConditions are those that Istio's validator takes in retryOn, besides
// numbers of HTTP states.
var retryConditions = []string{
	"5xx", "gateway-error", "reset", "reset-before-request", "connect-failure",
	"retriable-4xx", "refused-stream", "retriable-status-codes", "retriable-headers",
	"envoy-ratelimited", "http3-post-connect-failure",
	"cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable",
}

// check returns why the input cannot be rendered.
func check(in Input) []Reason {
	var c checker
	c.service(in)
	c.clusters(in)
	c.settings(in)
	c.reflex(in.Reflex)
	return c.reasons
}

type checker struct{ reasons []Reason }

func (c *checker) invalid(cluster string, port int32, format string, args ...any) {
	c.reasons = append(c.reasons, Reason{Code: Invalid, Cluster: cluster, Port: port, Message: fmt.Sprintf(format, args...)})
}

func (c *checker) service(in Input) {
	s := in.Service
	if !isDNSLabel(s.Name, maxLabel) || !isDNSLabel(s.Namespace, maxLabel) {
		c.invalid("", 0, "service %q in namespace %q: both must be DNS labels", s.Name, s.Namespace)
	}
	seen := map[int32]bool{}
	for _, p := range s.Ports {
		if p.protocol() == protocolUDP {
			continue
		}
		if p.Number < 1 || p.Number > 65535 {
			c.invalid("", p.Number, "port %d of service %s/%s is not in 1..65535", p.Number, s.Namespace, s.Name)
		}
		if seen[p.Number] {
			c.invalid("", p.Number, "port %d of service %s/%s stands there twice", p.Number, s.Namespace, s.Name)
		}
		seen[p.Number] = true
	}
}

func (c *checker) clusters(in Input) {
	names, ids, subsets := map[string]bool{}, map[string]string{}, map[string]string{}
	for _, cl := range byName(in.Clusters) {
		switch id, subset := cl.istioID(), SubsetName(cl.Name); {
		case cl.Name == "":
			c.invalid("", 0, "a cluster has no name")
		case names[cl.Name]:
			c.invalid(cl.Name, 0, "cluster %q is listed twice", cl.Name)
		case strings.ContainsAny(id, "=, \t\n"):
			c.invalid(cl.Name, 0, "cluster %q has Istio cluster ID %q: a preference cannot name an ID with '=', ',' or white space; rename the cluster in its istiod", cl.Name, id)
		case ids[id] != "":
			c.invalid(cl.Name, 0, "clusters %q and %q have the same Istio cluster ID %q: istiod ignores the second; give each its own", ids[id], cl.Name, id)
		case subsets[subset] != "":
			c.invalid(cl.Name, 0, "clusters %q and %q get the same subset name %q; rename one", subsets[subset], cl.Name, subset)
		default:
			names[cl.Name], ids[id], subsets[subset] = true, cl.Name, cl.Name
		}
		if cl.Permille < 0 {
			c.invalid(cl.Name, 0, "cluster %q has a weight of %d, below zero", cl.Name, cl.Permille)
		}
	}
}

func (c *checker) settings(in Input) {
	if in.Generation < 1 {
		c.invalid("", 0, "generation %d: it counts from 1", in.Generation)
	}
	if in.Steering != Always && in.Steering != OnDemand {
		c.invalid("", 0, "steering %q: use Always or OnDemand", in.Steering)
	}
	if in.Retries != Auto && in.Retries != Idempotent && in.Retries != Safe {
		c.invalid("", 0, "retries %q: use Auto, Idempotent or Safe", in.Retries)
	}
	if in.Subsets != Preference && in.Subsets != HardSubset {
		c.invalid("", 0, "subsets %q: use Preference or HardSubset", in.Subsets)
	}
	for _, ns := range slices.Sorted(slices.Values(in.ClientNamespaces)) {
		if ns != everyone && !isDNSLabel(ns, maxLabel) {
			c.invalid("", 0, "client namespace %q is not a DNS label", ns)
		}
	}
}

func (c *checker) reflex(r Reflex) {
	if r.LocalOriginFailures < 0 || r.GatewayErrors < 0 || r.Attempts < 0 || r.Interval < 0 || r.BaseEjection < 0 {
		c.invalid("", 0, "a setting of the reflex is below zero")
	}
	for _, on := range slices.Concat(r.RetryOnSafe, r.RetryOnWide) {
		if !slices.Contains(retryConditions, on) && !isHTTPState(on) {
			c.invalid("", 0, "retry condition %q: Istio knows %s, and numbers of HTTP states", on, strings.Join(retryConditions, ", "))
		}
	}
}

func isHTTPState(s string) bool {
	return len(s) == 3 && s[0] >= '1' && s[0] <= '5' && strings.Trim(s, "0123456789") == ""
}

// checkGateways finds clusters of other networks for which subsets cannot work.
// There, a gateway's address stands in for the pods, and it carries the label of
// the gateway's cluster, not of the pods'.
func checkGateways(in Input) []Reason {
	var reasons []Reason
	for _, c := range byName(in.Clusters) {
		if c.Network == in.ConfigNetwork {
			continue
		}
		var own, nameless, other bool
		for _, g := range in.Gateways {
			if g.Network == c.Network {
				own = own || g.Cluster == c.Name
				nameless = nameless || g.Cluster == ""
				other = other || g.Cluster != "" && g.Cluster != c.Name
			}
		}
		var why string
		switch {
		case own:
			continue
		case !nameless && !other:
			why = "has no east-west gateway, so its pods cannot be reached; install one"
		case in.Subsets == HardSubset:
			continue // The pods' own labels are looked at before gateways stand in.
		case other:
			why = "is reached only through another cluster's gateway, whose label would be taken for its own; give the cluster a gateway, or use hard subsets"
		default:
			why = "is reached by an address in meshNetworks, of which istiod knows no cluster; let istiod find the gateway by its Service, or use hard subsets"
		}
		reasons = append(reasons, Reason{Code: NoGateway, Cluster: c.Name, Message: fmt.Sprintf("cluster %q on network %q %s", c.Name, c.Network, why)})
	}
	return reasons
}

func (c Cluster) istioID() string {
	if c.IstioID != "" {
		return c.IstioID
	}
	return c.Name
}
