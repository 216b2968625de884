// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// virtualService holds a VirtualService against the hosts. One that is bound to
// the mesh and names a host is a conflict; one that only sends requests to a
// host, from a gateway or from another name, is an unweighted client.
func (s *search) virtualService(r Rule) []Conflict {
	gateways := texts(r.Spec, "gateways")
	if len(gateways) == 0 {
		gateways = []string{meshGateway}
	}
	var found []Conflict
	onMesh := slices.Contains(gateways, meshGateway) && s.reaches(r)
	if onMesh && s.in.Steering == Always {
		found = s.claimed(r)
	}
	if len(found) > 0 || !onMesh {
		gateways = slices.DeleteFunc(gateways, func(g string) bool { return g == meshGateway })
	}
	gateways = slices.Compact(slices.Sorted(slices.Values(gateways)))
	if host := s.destination(r); host != "" && len(gateways) > 0 && len(list(r.Spec, "hosts")) > 0 {
		c := conflict(UnweightedClient, r, host)
		c.Gateways = gateways
		c.Why = fmt.Sprintf("what comes in by gateway %s goes to the service by this rule, not by weir's weights", strings.Join(gateways, ", "))
		if slices.Contains(gateways, meshGateway) {
			c.Why = fmt.Sprintf("calls to %s go to the service by this rule, not by weir's weights", strings.Join(texts(r.Spec, "hosts"), ", "))
		}
		c.WayOut = "nothing needs to change: weights do not move these calls, the fence does"
		found = append(found, c)
	}
	return found
}

// claimed finds the names in a mesh-bound VirtualService that are ours.
func (s *search) claimed(r Rule) []Conflict {
	var found []Conflict
	for _, name := range texts(r.Spec, "hosts") {
		match, wide := s.hosted(name, r.Namespace)
		lost := "its " + describeRoutes(r.Spec)
		switch {
		case match && wide:
			c := conflict(WouldHide, r, name)
			c.Why = "it routes every host of this form for the mesh; a rule for the one host would go before it"
			c.Lost = lost + ", for this service"
			c.WayOut = fmt.Sprintf("narrow its hosts so that they leave out %s, or take weir.io/global off service %s/%s",
				strings.Join(s.hosts, ", "), s.in.Service.Namespace, s.in.Service.Name)
			found = append(found, c)
		case match, slices.Contains(s.aliases, strings.ToLower(name)):
			c := conflict(SameHost, r, name)
			c.Why = "it routes the same host for the mesh; of two such rules Istio keeps the older and ignores the other without a word"
			c.Lost = lost + ", or weir's weights, whichever is younger"
			c.WayOut = fmt.Sprintf("delete it, or bind it to gateways other than mesh, or take weir.io/global off service %s/%s",
				s.in.Service.Namespace, s.in.Service.Name)
			found = append(found, c)
		}
	}
	return found
}

// destination returns the first host of ours that a VirtualService, or one that
// it delegates to, sends requests to; empty for none.
func (s *search) destination(r Rule) string {
	if h := s.sendsTo(r); h != "" {
		return h
	}
	for _, http := range objects(r.Spec, "http") {
		if d := field(http, "delegate"); d != nil {
			ns := cmp.Or(text(d, "namespace"), r.Namespace)
			if target, ok := s.delegates[ns+"/"+text(d, "name")]; ok {
				if h := s.sendsTo(target); h != "" {
					return h
				}
			}
		}
	}
	return ""
}

func (s *search) sendsTo(r Rule) string {
	for _, d := range destinationHosts(r.Spec) {
		if match, wide := s.hosted(d, r.Namespace); match && !wide {
			return resolve(d, r.Namespace, s.in.Domain)
		}
	}
	return ""
}

// destinationHosts lists where a VirtualService sends requests, copies included.
func destinationHosts(spec map[string]any) []string {
	var out []string
	for _, proto := range []string{"http", "tls", "tcp"} {
		for _, route := range objects(spec, proto) {
			for _, d := range objects(route, "route") {
				out = append(out, text(field(d, "destination"), "host"))
			}
			out = append(out, text(field(route, "mirror"), "host"))
			for _, m := range objects(route, "mirrors") {
				out = append(out, text(field(m, "destination"), "host"))
			}
		}
	}
	return out
}

// describeRoutes says in short what a VirtualService does.
func describeRoutes(spec map[string]any) string {
	var parts []string
	features := map[string]any{}
	for _, proto := range []string{"http", "tls", "tcp"} {
		routes := objects(spec, proto)
		if len(routes) == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%d %s route(s)", len(routes), proto))
		for _, r := range routes {
			for _, k := range keys(r, "name", "route") {
				features[k] = true
			}
		}
	}
	if len(parts) == 0 {
		return "routes"
	}
	out := strings.Join(parts, ", ")
	if len(features) > 0 {
		out += " with " + strings.Join(keys(features), ", ")
	}
	return out
}

// destinationRule holds a DestinationRule against the hosts. A client takes the
// first level that matches, and that one whole: its own namespace, then the
// Service's, then the root's.
func (s *search) destinationRule(r Rule) []Conflict {
	name := text(r.Spec, "host")
	match, wide := s.hosted(name, r.Namespace)
	if !match || !s.reaches(r) {
		return nil
	}
	lost := "its " + describePolicy(r.Spec)
	var c Conflict
	switch {
	case r.Namespace == s.in.Service.Namespace && !wide:
		c = conflict(WouldMerge, r, name)
		c.Why = "it stands beside weir's rule for the same host; Istio would merge the two, and where both say something the older wins"
		c.Lost = lost + ", or weir's, whichever is younger"
	case r.Namespace == s.in.Service.Namespace, r.Namespace == s.in.RootNamespace && !s.private(r):
		c = conflict(WouldHide, r, name)
		c.Why = "it covers the host; a client takes one DestinationRule only, and weir's would go before it"
		c.Lost = lost + ", for this service"
	case s.in.Steering == Always && s.isClient(r.Namespace) && s.seenAtHome(r):
		c = conflict(HidesOurs, r, name)
		c.Why = fmt.Sprintf("clients in namespace %s take it instead of weir's rule, and so know none of weir's subsets", r.Namespace)
		c.Lost = fmt.Sprintf("calls from namespace %s, each answered 503", r.Namespace)
	default:
		return nil
	}
	c.WayOut = fmt.Sprintf("delete it or narrow its host so that it leaves out %s, or take weir.io/global off service %s/%s",
		strings.Join(s.hosts, ", "), s.in.Service.Namespace, s.in.Service.Name)
	if c.Code == HidesOurs {
		c.WayOut += fmt.Sprintf(", or, if nothing in namespace %s calls the service, leave it out of clients.namespaces in the TrafficPolicy", r.Namespace)
	}
	return []Conflict{c}
}

// private says whether a DestinationRule is seen in its own namespace alone. One
// that picks workloads always is.
func (s *search) private(r Rule) bool {
	if field(r.Spec, "workloadSelector") != nil {
		return true
	}
	to := texts(r.Spec, "exportTo")
	return len(to) == 1 && (to[0] == "." || to[0] == r.Namespace)
}

// seenAtHome says whether clients in a DestinationRule's own namespace use it.
func (s *search) seenAtHome(r Rule) bool {
	to := texts(r.Spec, "exportTo")
	return len(to) == 0 || s.private(r) || slices.ContainsFunc(to, func(ns string) bool {
		return ns == everyone || ns == "." || ns == r.Namespace
	})
}

// describePolicy says in short what a DestinationRule does.
func describePolicy(spec map[string]any) string {
	var parts []string
	for _, k := range keys(field(spec, "trafficPolicy")) {
		part := k
		if mode := text(field(field(spec, "trafficPolicy"), k), "mode"); mode != "" {
			part += " " + mode
		}
		parts = append(parts, part)
	}
	var subsets []string
	for _, sub := range objects(spec, "subsets") {
		subsets = append(subsets, text(sub, "name"))
	}
	if len(subsets) > 0 {
		parts = append(parts, "subsets "+strings.Join(subsets, ", "))
	}
	if len(parts) == 0 {
		return "place, though it says nothing"
	}
	return strings.Join(parts, ", ")
}
