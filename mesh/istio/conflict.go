// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Conflict is one rule of someone else that bears on a host of ours, told in
// words that its owner can act on.
type Conflict struct {
	Code ConflictCode
	// Kind, Namespace and Name are those of the foreign rule.
	Kind, Namespace, Name string
	// Host is the host name in that rule by which it was found, as written there
	// or, for a parent or backend of the Gateway API, the host it stands for.
	Host string
	// Gateways are those an unweighted client goes through; "mesh" stands for
	// sidecars. Only with UnweightedClient.
	Gateways []string
	// Why says what the two rules do to each other.
	Why string
	// Lost says what would stop to work if weir wrote its rules all the same.
	Lost string
	// WayOut says what its owner can do.
	WayOut string
}

// ConflictCode is the machine's word for a Conflict, fit for a condition.
type ConflictCode string

const (
	// SameHost: a rule routes the same host for the mesh. Only one of the two is
	// in force, and nothing tells which.
	SameHost ConflictCode = "SameHost"
	// WouldHide: ours would take the place of a wider rule for this host.
	WouldHide ConflictCode = "WouldHide"
	// HidesOurs: clients in one namespace take a rule of that namespace instead.
	HidesOurs ConflictCode = "HidesOurs"
	// WouldMerge: Istio would merge the two into one, in order of their age.
	WouldMerge ConflictCode = "WouldMerge"
	// UnweightedClient: calls through this rule reach the host without a route of
	// ours. It stops no shift, but only the fence moves these calls.
	UnweightedClient ConflictCode = "UnweightedClient"
	// OutOfSight: a Sidecar keeps the host from its workloads. It stops no shift.
	OutOfSight ConflictCode = "OutOfSight"
)

// Blocks says whether weir writes no rule while this stands.
func (c ConflictCode) Blocks() bool { return c != UnweightedClient && c != OutOfSight }

// String names the rule and says what is wrong, what is at stake and the way
// out, in one line that is stable for the same rule.
func (c Conflict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s/%s, host %q: %s.", c.Kind, c.Namespace, c.Name, c.Host, c.Why)
	if c.Lost != "" {
		fmt.Fprintf(&b, " Would be lost: %s.", c.Lost)
	}
	if c.WayOut != "" {
		fmt.Fprintf(&b, " Way out: %s.", c.WayOut)
	}
	return b.String()
}

// Foreign finds the rules of others that match a host of the Service, whatever
// their namespace: exact or short names, wildcards, routes of the Gateway API,
// DestinationRules of client namespaces and of the root namespace. Weir's own
// are passed over. Rules that reach no client of the Service are, too.
//
// With steering OnDemand weir writes no route and no subset, so routes of others
// are let be, and so is a client's own DestinationRule.
//
// It looks at the Service, the namespaces, the domain and the steering of the
// input, and at nothing else. The answer is the same for any order of the rules.
func Foreign(in Input, rules []Rule) []Conflict {
	s := newSearch(in.withDefaults(), rules)
	var found []Conflict
	for _, r := range rules {
		if r.Ours() {
			continue
		}
		switch r.Kind {
		case "VirtualService":
			found = append(found, s.virtualService(r)...)
		case "DestinationRule":
			found = append(found, s.destinationRule(r)...)
		case "HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute":
			found = append(found, s.gatewayRoute(r)...)
		case "Sidecar":
			found = append(found, s.sidecar(r)...)
		}
	}
	slices.SortFunc(found, func(a, b Conflict) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Host, b.Host))
	})
	return found
}

// search is what a rule is held against.
type search struct {
	in    Input
	hosts []string
	// aliases are shorter forms that callers use. Proxies answer to them as to
	// the full name, and a VirtualService may claim one by itself.
	aliases []string
	// delegates are the VirtualServices that others may hand requests to.
	delegates map[string]Rule
}

func newSearch(in Input, rules []Rule) *search {
	s := &search{in: in, delegates: map[string]Rule{}}
	for _, h := range in.hosts() {
		s.hosts = append(s.hosts, h.name)
	}
	short := in.Service.Name + "." + in.Service.Namespace
	s.aliases = []string{short, short + ".svc"}
	for _, r := range rules {
		if r.Kind == "VirtualService" && len(list(r.Spec, "hosts")) == 0 {
			s.delegates[r.Namespace+"/"+r.Name] = r
		}
	}
	return s
}

// hosted says whether a host in a rule of a namespace takes in one of ours, and
// whether as a wildcard.
func (s *search) hosted(name, namespace string) (match, wide bool) {
	full := resolve(name, namespace, s.in.Domain)
	if full == "" {
		return false, false
	}
	return slices.ContainsFunc(s.hosts, func(h string) bool { return covers(full, h) }), isWildcard(full)
}

// isClient says whether proxies of a namespace read rules for the Service.
func (s *search) isClient(namespace string) bool {
	all := s.in.exportTo()
	return slices.Contains(all, any(everyone)) || slices.Contains(all, any(namespace))
}

// reaches says whether a rule is seen in a namespace with clients. Without
// exportTo it may be seen everywhere: the mesh's default is not known here.
func (s *search) reaches(r Rule) bool {
	to := texts(r.Spec, "exportTo")
	return len(to) == 0 || slices.ContainsFunc(to, func(ns string) bool {
		switch ns {
		case everyone:
			return true
		case ".":
			return s.isClient(r.Namespace)
		}
		return s.isClient(ns)
	})
}

func conflict(code ConflictCode, r Rule, host string) Conflict {
	return Conflict{Code: code, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Host: host}
}
