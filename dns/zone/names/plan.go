// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/weir-io/weir/dns/zone"
)

// Plan makes the document of the table, and says what of the wishes is not in it. Reasons are sorted.
func Plan(f Fleet) (zone.Document, []Reason) {
	p := plan{Fleet: f, clusters: map[string]Cluster{}, taken: map[string]bool{}, held: map[string]string{}}
	p.Services = p.sorted(f.Services)
	doc := zone.Document{Serial: f.Serial, TTL: p.defaultTTL()}
	if f.ClusterSet != nil {
		doc.ClusterSet = p.clusterSet()
	}
	switch {
	case f.Global != nil && p.openGlobal():
		doc.Global = p.global()
	default:
		p.refuseHostnames()
	}
	slices.SortFunc(p.reasons, func(a, b Reason) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
			strings.Compare(a.Cluster, b.Cluster), strings.Compare(string(a.Code), string(b.Code)), strings.Compare(a.Message, b.Message))
	})
	return doc, slices.Compact(p.reasons)
}

// plan is a document in the making.
type plan struct {
	Fleet
	clusters map[string]Cluster
	origin   string
	taken    map[string]bool
	held     map[string]string // host names that a service wishes for and holds already, with its own name
	reasons  []Reason
}

func (p *plan) say(s Service, cluster string, code Code, format string, args ...any) {
	p.reasons = append(p.reasons, Reason{Code: code, Namespace: s.Namespace, Name: s.Name, Cluster: cluster, Message: fmt.Sprintf(format, args...)})
}

// sorted returns the services that have a name, each once, by namespace and name.
func (p *plan) sorted(in []Service) []Service {
	out := slices.Clone(in)
	slices.SortStableFunc(out, func(a, b Service) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	out = slices.CompactFunc(out, func(a, b Service) bool { return a.Namespace == b.Namespace && a.Name == b.Name })
	return slices.DeleteFunc(out, func(s Service) bool {
		bad := zone.CheckService(s.Namespace, s.Name)
		if bad != nil {
			p.say(s, "", BadInput, "%v", bad)
		}
		return bad != nil
	})
}

// defaultTTL is the fleet's where it can be, else nil.
func (p *plan) defaultTTL() *zone.TTL {
	if p.TTL != nil && *p.TTL > zone.MaxTTL {
		p.say(Service{}, "", BadTTL, "the default of %s is too long: 1h is the most", *p.TTL)
		return nil
	}
	return p.TTL
}

// ttl is what the service wishes for, nil for the default.
func (p *plan) ttl(s Service) *zone.TTL {
	if s.TTL == "" {
		return nil
	}
	t := new(zone.TTL)
	if err := t.UnmarshalText([]byte(s.TTL)); err != nil {
		p.say(s, "", BadTTL, "annotation weir.io/ttl: %v", err)
		return nil
	}
	return t
}

func (p *plan) clusterSet() *zone.ClusterSet {
	out := &zone.ClusterSet{State: p.ClusterSet.State, NameServers: p.nameServers(zone.ClusterSetOrigin, p.ClusterSet.NameServers)}
	for _, s := range p.Services {
		addresses := p.usable(s, "", s.ClusterSetIPs)
		if len(addresses) == 0 {
			p.say(s, "", NoAddress, "its import has no address yet, so the name in clusterset.local has none")
		}
		out.Services = append(out.Services, zone.ClusterSetService{Namespace: s.Namespace, Name: s.Name, TTL: p.ttl(s), Addresses: addresses})
	}
	return out
}

// openGlobal says whether there can be a zone of the origin that is asked for.
func (p *plan) openGlobal() bool {
	origin, err := zone.CheckOrigin(p.Global.Origin)
	if err != nil {
		p.say(Service{}, "", BadInput, "the global zone: %v", err)
		return false
	}
	p.origin = origin
	return true
}

func (p *plan) global() *zone.Global {
	out := &zone.Global{Origin: strings.TrimSuffix(p.origin, "."), State: p.Global.State, NameServers: p.nameServers(p.origin, p.Global.NameServers)}
	for _, ns := range out.NameServers {
		p.taken[canonical(ns.Name)] = true
	}
	if len(out.NameServers) == 0 {
		p.taken["ns."+p.origin] = true
	}
	for _, c := range p.sortedClusters() {
		c.Gateways = p.usable(Service{}, c.Name, c.Gateways)
		p.clusters[c.Name] = c
		out.Clusters = append(out.Clusters, zone.Cluster{Name: c.Name, Addresses: c.Gateways})
	}
	p.Services = slices.DeleteFunc(p.Services, p.hasNoRoom)
	for _, s := range p.Services {
		p.taken[s.Name+"."+s.Namespace+"."+p.origin] = true
	}
	for _, s := range p.Services {
		p.hold(s)
	}
	for _, s := range p.Services {
		out.Services = append(out.Services, zone.GlobalService{
			Namespace: s.Namespace, Name: s.Name, TTL: p.ttl(s), Hostname: p.hostname(s), Clusters: p.shares(s),
		})
	}
	return out
}

// hold keeps for a service the host name that it wishes for and had.
func (p *plan) hold(s Service) {
	host, err := zone.CheckHostname(p.origin, s.Hostname)
	had := slices.ContainsFunc(s.Holds, func(h string) bool { return canonical(h) == host })
	if err == nil && had && p.held[host] == "" {
		p.held[host] = s.Namespace + "/" + s.Name
	}
}

// hasNoRoom says whether the service's own name is another's already, or too long.
func (p *plan) hasNoRoom(s Service) bool {
	name := s.Name + "." + s.Namespace + "." + p.origin
	switch {
	case p.taken[name]:
		p.say(s, "", HostnameTaken, "the name %s is that of a name server: give that another", name)
	case len(name) > zone.MaxName:
		p.say(s, "", BadInput, "the name %s is too long: take a shorter zone", name)
	default:
		return false
	}
	return true
}

func (p *plan) sortedClusters() []Cluster {
	out := slices.Clone(p.Clusters)
	slices.SortStableFunc(out, func(a, b Cluster) int { return strings.Compare(a.Name, b.Name) })
	out = slices.CompactFunc(out, func(a, b Cluster) bool { return a.Name == b.Name })
	return slices.DeleteFunc(out, func(c Cluster) bool {
		bad := zone.CheckCluster(c.Name)
		if bad != nil {
			p.say(Service{}, c.Name, BadInput, "%v", bad)
		}
		return bad != nil
	})
}

// hostname is the wish of the service where it can be served, else empty.
func (p *plan) hostname(s Service) string {
	if s.Hostname == "" {
		return ""
	}
	host, err := zone.CheckHostname(p.origin, s.Hostname)
	switch {
	case err != nil:
		p.say(s, "", BadHostname, "annotation weir.io/hostname: %v", err)
		return ""
	case host == s.Name+"."+s.Namespace+"."+p.origin:
		return "" // It has that name anyway.
	case p.taken[host], p.held[host] != "" && p.held[host] != s.Namespace+"/"+s.Name:
		p.say(s, "", HostnameTaken, "annotation weir.io/hostname: the name %s is taken: give one of the two another", strings.TrimSuffix(host, "."))
		return ""
	}
	p.taken[host] = true
	return strings.TrimSuffix(host, ".")
}

// refuseHostnames tells those who wish for a name that there is no zone for it.
func (p *plan) refuseHostnames() {
	for _, s := range p.Services {
		if s.Hostname != "" {
			p.say(s, "", NoZone, "annotation weir.io/hostname: the hub serves no global zone, so the name is not served")
		}
	}
}

// shares are the weights of the service's clusters, 0 for each that answers must not name.
func (p *plan) shares(s Service) []zone.Share {
	entries := slices.Clone(s.Clusters)
	slices.SortStableFunc(entries, func(a, b Entry) int { return strings.Compare(a.Cluster, b.Cluster) })
	entries = slices.CompactFunc(entries, func(a, b Entry) bool { return a.Cluster == b.Cluster })
	var out []zone.Share
	var named bool
	for _, e := range entries {
		c, known := p.clusters[e.Cluster]
		if !known {
			p.say(s, e.Cluster, BadInput, "the cluster is not one of the fleet")
			continue
		}
		weight := min(e.Weight, zone.MaxWeight)
		switch {
		case e.Presence == Out || c.Service == Out:
			weight = 0
		case weight > 0 && len(c.Gateways) == 0:
			p.say(s, e.Cluster, NoGateway, "the cluster has no gateway address, so no client is sent there")
		case weight > 0:
			named = true
		}
		out = append(out, zone.Share{Name: e.Cluster, Weight: weight})
	}
	if !named {
		p.say(s, "", NoTarget, "no cluster is left that answers may name, so its global names have no address")
	}
	return out
}

// usable leaves out addresses that no table takes.
func (p *plan) usable(s Service, cluster string, in []netip.Addr) []netip.Addr {
	var out []netip.Addr
	for _, a := range in {
		switch bad := zone.CheckAddress(a); {
		case bad != nil:
			p.say(s, cluster, BadInput, "%v", bad)
		case len(out) < zone.MaxAddresses && !slices.Contains(out, a):
			out = append(out, a)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return out
}

// nameServers leaves out servers that the zone can not have, and those that are one too many.
func (p *plan) nameServers(origin string, in []zone.NameServer) []zone.NameServer {
	var out []zone.NameServer
	for _, ns := range in {
		bad := zone.CheckNameServer(origin, ns)
		twice := slices.ContainsFunc(out, func(o zone.NameServer) bool { return canonical(o.Name) == canonical(ns.Name) })
		switch {
		case bad != nil:
			p.say(Service{}, "", BadInput, "name server of %s: %v", strings.TrimSuffix(origin, "."), bad)
		case !twice && len(out) < zone.MaxNameServers:
			out = append(out, ns)
		}
	}
	return out
}

// canonical is a host name in lower case with a dot at its end.
func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) + "." }
