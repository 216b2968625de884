// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"fmt"
	"net/netip"
	"strings"
)

// ClusterSetOrigin is the zone of the Multi-Cluster Services API, fixed by its specification.
const ClusterSetOrigin = "clusterset.local."

// Compile makes a table of a document. A document with an error makes none.
func Compile(d Document) (*Table, []FieldError) {
	c := compiler{table: &Table{serial: max(d.Serial, 1), names: map[string]*node{}}, ttl: DefaultTTL}
	if d.TTL != nil {
		c.ttl = *d.TTL
		c.checkTTL("ttl", d.TTL)
	}
	if d.ClusterSet != nil {
		c.clusterSet(d.ClusterSet)
	}
	if d.Global != nil {
		c.global(d.Global)
	}
	if len(c.fieldErrors) > 0 {
		return nil, c.fieldErrors
	}
	return c.table, nil
}

// compiler is a table in the making.
type compiler struct {
	fieldErrors
	table *Table
	ttl   TTL
}

func (c *compiler) clusterSet(s *ClusterSet) {
	const path = "clusterSet"
	z := c.zone(path, ClusterSetOrigin, s.State, s.NameServers)
	// It exists before the first service does: resolvers that were told otherwise would deny all below it.
	c.exists(z, "svc."+ClusterSetOrigin)
	for i, svc := range s.Services {
		at := fmt.Sprintf("%s.services[%d]", path, i)
		c.checkTTL(at+".ttl", svc.TTL)
		c.checkAddresses(at+".addresses", svc.Addresses)
		if !c.checkNames(at, svc.Namespace, svc.Name) {
			continue
		}
		n := c.name(at, z, svc.Name+"."+svc.Namespace+".svc."+ClusterSetOrigin)
		n.ttl = c.ttlOf(svc.TTL)
		n.fixed(svc.Addresses)
	}
}

func (c *compiler) global(g *Global) {
	const path = "global"
	origin, err := CheckOrigin(g.Origin)
	if !c.check(path+".origin", err) {
		return
	}
	z := c.zone(path, origin, g.State, g.NameServers)
	gateways := map[string][]netip.Addr{}
	for i, cluster := range g.Clusters {
		at := fmt.Sprintf("%s.clusters[%d]", path, i)
		c.check(at+".name", CheckCluster(cluster.Name))
		c.checkAddresses(at+".addresses", cluster.Addresses)
		if _, twice := gateways[cluster.Name]; twice {
			c.add(at+".name", "cluster %q is listed twice: leave one", cluster.Name)
		}
		gateways[cluster.Name] = cluster.Addresses
	}
	for i, svc := range g.Services {
		c.globalService(fmt.Sprintf("%s.services[%d]", path, i), z, svc, gateways)
	}
}

func (c *compiler) globalService(at string, z *Zone, svc GlobalService, gateways map[string][]netip.Addr) {
	c.checkTTL(at+".ttl", svc.TTL)
	c.checkShares(at+".clusters", svc.Clusters, gateways)
	if !c.checkNames(at, svc.Namespace, svc.Name) {
		return
	}
	full := svc.Name + "." + svc.Namespace + "." + z.Origin
	hosts := []string{full}
	nodes := []*node{c.name(at, z, full)}
	if svc.Hostname != "" {
		host, err := CheckHostname(z.Origin, svc.Hostname)
		if c.check(at+".hostname", err) && host != full {
			hosts, nodes = append(hosts, host), append(nodes, c.name(at+".hostname", z, host))
		}
	}
	for i, n := range nodes {
		n.ttl = c.ttlOf(svc.TTL)
		n.drawn = true
		for _, share := range svc.Clusters {
			if share.Weight == 0 {
				continue
			}
			target := len(c.table.targets)
			if n.share(target, share.Weight, gateways[share.Name]) {
				c.table.targets = append(c.table.targets, Target{Name: hosts[i], Cluster: share.Name})
			}
		}
	}
}

// zone opens a zone with its name servers.
func (c *compiler) zone(path, origin string, state State, servers []NameServer) *Zone {
	z := &Zone{Origin: origin, State: c.checkState(path+".state", state), Mailbox: "hostmaster." + origin, Index: len(c.table.zones)}
	c.table.zones = append(c.table.zones, z)
	c.exists(z, origin)
	if len(servers) == 0 {
		servers = []NameServer{{Name: "ns." + origin}}
	}
	c.atMost(path+".nameServers", len(servers), MaxNameServers)
	for i, s := range servers {
		at := fmt.Sprintf("%s.nameServers[%d]", path, i)
		if !c.check(at, CheckNameServer(origin, s)) {
			continue
		}
		name, _ := checkHost(s.Name)
		z.NameServers = append(z.NameServers, name)
		if within(name, origin) {
			n := c.name(at, z, name)
			n.ttl = nsTTL
			n.fixed(s.Addresses)
		}
	}
	return z
}

// name returns the node of a name that is new, and refuses one that something else has.
func (c *compiler) name(at string, z *Zone, name string) *node {
	if len(name) > MaxName {
		c.add(at, "the name %s has %d characters: %d are the most", name, len(name)-1, MaxName-1)
	}
	n := c.exists(z, name)
	if n.owner != "" {
		c.add(at, "the name %s is that of %s already: leave one of the two", name, n.owner)
		return &node{zone: z} // Not to mix what is wrong with what is right.
	}
	n.owner = at
	return n
}

// exists makes sure that a name and all above it within the zone exist.
func (c *compiler) exists(z *Zone, name string) *node {
	n := c.table.names[name]
	if n == nil {
		n = &node{zone: z}
		c.table.names[name] = n
		if name != z.Origin {
			if _, parent, ok := strings.Cut(name, "."); ok && within(parent, z.Origin) {
				c.exists(z, parent)
			}
		}
	}
	return n
}

// checkNames wants namespace and name to be what Kubernetes takes.
func (c *compiler) checkNames(at, namespace, name string) bool {
	ok := c.check(at+".namespace", checkLabel(namespace))
	return c.check(at+".name", checkLabel(name)) && ok
}

func (c *compiler) ttlOf(own *TTL) TTL {
	if own != nil {
		return *own
	}
	return c.ttl
}
