// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"fmt"
	"slices"
	"strings"
)

const (
	gatewayGroup = "gateway.networking.k8s.io"
	importGroup  = "multicluster.x-k8s.io"
	istioGroup   = "networking.istio.io"
)

// gatewayRoute holds a route of the Gateway API against the hosts. One whose
// parent is the Service routes it for the mesh: istiod makes a VirtualService of
// it that no list of objects shows. One with another parent and the Service as a
// backend is an unweighted client.
func (s *search) gatewayRoute(r Rule) []Conflict {
	var found []Conflict
	var parents []string
	for _, p := range objects(r.Spec, "parentRefs") {
		ref := reference(p, gatewayGroup, "Gateway", r.Namespace)
		switch host := s.refHost(ref); {
		case host == "":
			parents = append(parents, parentName(ref, s.in.Domain))
		case s.in.Steering == Always && (s.isClient(r.Namespace) || r.Namespace == s.in.Service.Namespace):
			c := conflict(SameHost, r, host)
			c.Why = "its parent is the service, so it routes it for the mesh, and Istio takes only one such rule"
			c.Lost = fmt.Sprintf("its %d rule(s), or weir's weights, for the callers that see it", len(list(r.Spec, "rules")))
			c.WayOut = fmt.Sprintf("delete it, or take the service out of its parentRefs, or take weir.io/global off service %s/%s",
				s.in.Service.Namespace, s.in.Service.Name)
			found = append(found, c)
		}
	}
	host := s.backend(r)
	if host == "" || len(parents) == 0 {
		return found
	}
	slices.Sort(parents)
	c := conflict(UnweightedClient, r, host)
	c.Gateways = slices.Compact(parents)
	c.Why = fmt.Sprintf("what comes in by %s goes to the service by this route, not by weir's weights", strings.Join(c.Gateways, ", "))
	c.WayOut = "nothing needs to change: weights do not move these calls, the fence does"
	return append(found, c)
}

// ref is a reference of the Gateway API with its defaults filled in.
type ref struct{ group, kind, namespace, name string }

func reference(obj map[string]any, group, kind, namespace string) ref {
	out := ref{group: group, kind: kind, namespace: namespace, name: text(obj, "name")}
	if g, ok := obj["group"].(string); ok {
		out.group = g // An empty group is a value: the core group.
	}
	if k := text(obj, "kind"); k != "" {
		out.kind = k
	}
	if ns := text(obj, "namespace"); ns != "" {
		out.namespace = ns
	}
	return out
}

// refHost returns the host of ours that a reference stands for; empty for none.
func (s *search) refHost(r ref) string {
	same := r.namespace == s.in.Service.Namespace && r.name == s.in.Service.Name
	var host string
	switch {
	case r.group == "" && r.kind == "Service" && same:
		host = HostName(r.name, r.namespace, s.in.Domain)
	case r.group == importGroup && r.kind == "ServiceImport" && same:
		host = HostName(r.name, r.namespace, ClusterSetDomain)
	case r.group == istioGroup && r.kind == "Hostname":
		host = strings.ToLower(r.name)
	}
	if slices.Contains(s.hosts, host) {
		return host
	}
	return ""
}

// backend returns the first host of ours that a route sends requests to, copies
// included; empty for none.
func (s *search) backend(r Rule) string {
	for _, rule := range objects(r.Spec, "rules") {
		refs := objects(rule, "backendRefs")
		for _, b := range refs {
			refs = append(refs, mirrored(b)...)
		}
		for _, b := range append(refs, mirrored(rule)...) {
			if host := s.refHost(reference(b, "", "Service", r.Namespace)); host != "" {
				return host
			}
		}
	}
	return ""
}

func mirrored(obj map[string]any) []map[string]any {
	var out []map[string]any
	for _, f := range objects(obj, "filters") {
		if b := field(field(f, "requestMirror"), "backendRef"); b != nil {
			out = append(out, b)
		}
	}
	return out
}

// parentName writes a parent as VirtualServices name gateways; a parent that is
// a Service means calls of the mesh to it.
func parentName(r ref, domain string) string {
	if r.kind == "Gateway" {
		return r.namespace + "/" + r.name
	}
	if r.group == "" && r.kind == "Service" {
		return meshGateway + " (calls to " + HostName(r.name, r.namespace, domain) + ")"
	}
	return r.kind + " " + r.namespace + "/" + r.name
}
