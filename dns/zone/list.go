// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Entry is one line of a table for people and programs to read: a name with one set of addresses.
type Entry struct {
	// Name without the dot at its end.
	Name string `json:"name"`
	// TTL in force, that of stale zones aside.
	TTL TTL `json:"ttl"`
	// Cluster that the addresses are of; empty where they are the only ones.
	Cluster string `json:"cluster,omitempty"`
	// Weight of the cluster; 0 where there is none.
	Weight uint64 `json:"weight,omitempty"`
	// Addresses, IPv4 first. Empty: the name has none now.
	Addresses []netip.Addr `json:"addresses"`
}

// Entries lists the names that the table was told of, by zone, namespace, name and cluster. What is not answered for
// its weight of 0 is not in it.
func (t *Table) Entries() []Entry {
	var out []Entry
	if t == nil {
		return out
	}
	names := slices.SortedFunc(maps.Keys(t.names), func(a, b string) int { return cmp.Compare(reversed(a), reversed(b)) })
	for _, name := range names {
		if n := t.names[name]; n.owner != "" {
			out = append(out, t.entries(strings.TrimSuffix(name, "."), n)...)
		}
	}
	return out
}

// entries joins the choices of both families by target.
func (t *Table) entries(name string, n *node) []Entry {
	var out []Entry
	at := map[int]int{}
	for _, set := range []rrset{n.v4, n.v6} {
		var below uint64
		for _, c := range set.choices {
			place, known := at[c.target]
			if !known {
				place = len(out)
				at[c.target] = place
				e := Entry{Name: name, TTL: n.ttl}
				if c.target >= 0 {
					e.Cluster, e.Weight = t.targets[c.target].Cluster, c.upTo-below
				}
				out = append(out, e)
			}
			out[place].Addresses = append(out[place].Addresses, c.addresses...)
			below = c.upTo
		}
	}
	if len(out) == 0 {
		return []Entry{{Name: name, TTL: n.ttl, Addresses: []netip.Addr{}}}
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return out
}

// reversed turns the labels of a name around, so that names sort by zone first.
func reversed(name string) string {
	labels := strings.Split(name, ".")
	slices.Reverse(labels)
	return strings.Join(labels, "\x00")
}
