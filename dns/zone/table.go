// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"math/bits"
	"net/netip"
	"slices"
	"strings"
)

// Table answers questions. It never changes, so any number of readers may share it. A nil Table can answer nothing.
type Table struct {
	serial  uint32
	zones   []*Zone
	names   map[string]*node
	targets []Target
}

// Target is a cluster that answers to a name may name.
type Target struct {
	// Name in lower case, with a dot at its end.
	Name string `json:"name"`
	// Cluster that its answers may name.
	Cluster string `json:"cluster"`
}

// node is one name.
type node struct {
	zone  *Zone
	owner string // the field that made it; empty for a name that exists only by those below it
	ttl   TTL
	drawn bool // its addresses are those of clusters
	v4    rrset
	v6    rrset
}

// rrset holds the choices for one type.
type rrset struct {
	total   uint64
	choices []choice
}

// choice is one set of addresses, drawn by values below upTo that the choices before it left.
type choice struct {
	upTo      uint64
	target    int
	addresses []netip.Addr
}

// Serial is the generation of the table; 0 for a nil Table.
func (t *Table) Serial() uint32 {
	if t == nil {
		return 0
	}
	return t.serial
}

// Zones returns the zones, not to be changed.
func (t *Table) Zones() []*Zone {
	if t == nil {
		return nil
	}
	return t.zones
}

// Targets returns each name and cluster that an answer may name, at the place that Answer.Target gives. Not to be
// changed.
func (t *Table) Targets() []Target {
	if t == nil {
		return nil
	}
	return t.targets
}

// Lookup answers one question.
func (t *Table) Lookup(q Question) Answer {
	if t == nil {
		return Answer{Rcode: ServFail, Reason: NoTable, Target: -1}
	}
	z := t.zoneOf(q.Name)
	switch {
	case z == nil:
		return Answer{Rcode: Refused, Reason: Outside, Target: -1}
	case z.State == Unsynced:
		return Answer{Rcode: ServFail, Reason: NotSynced, Zone: z, Target: -1}
	}
	n := t.names[q.Name]
	switch {
	case n == nil && z.State == Stale:
		return Answer{Rcode: ServFail, Reason: NotKnownStale, Zone: z, Target: -1}
	case n == nil:
		return Answer{Rcode: NameError, Reason: NoName, Zone: z, Target: -1}
	}
	a := n.answer(q)
	a.Zone = z
	if z.State == Stale && a.Type != 0 {
		a.Reason, a.TTL = FoundStale, min(a.TTL, StaleTTL)
	}
	return a
}

// zoneOf returns the zone that a name is in. Zones do not overlap.
func (t *Table) zoneOf(name string) *Zone {
	for _, z := range t.zones {
		if within(name, z.Origin) {
			return z
		}
	}
	return nil
}

// within says whether a name is the origin or below it. A dot that is escaped ends no label.
func within(name, origin string) bool {
	head, ok := strings.CutSuffix(name, origin)
	if !ok || head == "" {
		return ok
	}
	label, ok := strings.CutSuffix(head, ".")
	return ok && (len(label)-len(strings.TrimRight(label, `\`)))%2 == 0
}

// answer is what the name has for the question.
func (n *node) answer(q Question) Answer {
	none := Answer{Rcode: NoError, Reason: NoData, Target: -1}
	apex := q.Name == n.zone.Origin
	switch q.Type {
	case TypeA:
		return n.addresses(TypeA, n.v4, q.Draw)
	case TypeAAAA:
		return n.addresses(TypeAAAA, n.v6, q.Draw)
	case TypeSOA:
		if apex {
			return Answer{Rcode: NoError, Reason: Found, Type: TypeSOA, TTL: NegativeTTL, Target: -1}
		}
	case TypeNS:
		if apex {
			return Answer{Rcode: NoError, Reason: Found, Type: TypeNS, TTL: nsTTL, Target: -1}
		}
	case TypeANY: // One set is enough (RFC 8482).
		for _, t := range []uint16{TypeA, TypeAAAA, TypeSOA} {
			if a := n.answer(Question{q.Name, t, q.Draw}); a.Type != 0 {
				return a
			}
		}
	}
	return none
}

func (n *node) addresses(kind uint16, set rrset, draw uint64) Answer {
	c := set.pick(draw)
	switch {
	case c != nil:
		return Answer{Rcode: NoError, Reason: Found, Type: kind, TTL: n.ttl, Addresses: c.addresses, Target: c.target}
	case n.drawn && n.v4.total == 0 && n.v6.total == 0:
		return Answer{Rcode: NoError, Reason: NoTarget, Target: -1}
	}
	return Answer{Rcode: NoError, Reason: NoData, Target: -1}
}

// pick scales the draw to the sum of the weights and returns the choice whose part it falls into; nil of none.
func (r rrset) pick(draw uint64) *choice {
	if len(r.choices) <= 1 {
		if len(r.choices) == 0 {
			return nil
		}
		return &r.choices[0]
	}
	at, _ := bits.Mul64(draw, r.total)
	i, exact := slices.BinarySearchFunc(r.choices, at, func(c choice, at uint64) int {
		switch {
		case c.upTo < at:
			return -1
		case c.upTo > at:
			return 1
		}
		return 0
	})
	if exact { // Its part ends before upTo.
		i++
	}
	return &r.choices[i]
}

// fixed gives the name addresses that no draw changes.
func (n *node) fixed(addresses []netip.Addr) { n.share(-1, 1, addresses) }

// share adds a choice to the sets of the families that the addresses are of, and says whether there is one.
func (n *node) share(target int, weight uint32, addresses []netip.Addr) bool {
	v4, v6 := split(addresses)
	n.v4.add(target, weight, v4)
	n.v6.add(target, weight, v6)
	return len(addresses) > 0
}

func (r *rrset) add(target int, weight uint32, addresses []netip.Addr) {
	if len(addresses) == 0 || weight == 0 {
		return
	}
	r.total += uint64(weight)
	r.choices = append(r.choices, choice{upTo: r.total, target: target, addresses: addresses})
}

func split(addresses []netip.Addr) (v4, v6 []netip.Addr) {
	for _, a := range addresses {
		if a.Is4() {
			v4 = append(v4, a)
		} else {
			v6 = append(v6, a)
		}
	}
	return v4, v6
}
