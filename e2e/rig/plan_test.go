// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"net/netip"
	"strings"
	"testing"
)

func TestRangesOfClustersDoNotOverlap(t *testing.T) {
	all := []netip.Prefix{netip.MustParsePrefix(servicesNet), netip.MustParsePrefix(outsideAddress + "/30")}
	for _, p := range places(9) {
		for _, text := range []string{p.pods(), p.balanced(), p.uplink() + "/30"} {
			r := netip.MustParsePrefix(text).Masked()
			for _, other := range all {
				if r.Overlaps(other) {
					t.Errorf("%s of %s overlaps %s", r, p.name, other)
				}
			}
			all = append(all, r)
		}
	}
}

func TestAddressesLieInTheirRanges(t *testing.T) {
	for _, p := range places(9) {
		for _, a := range []struct{ address, within string }{
			{p.node(), p.pods()}, {p.dns(), p.pods()}, {p.ingress(), p.balanced()}, {p.eastWest(), p.balanced()}, {p.gateway(), p.uplink() + "/30"},
		} {
			if !netip.MustParsePrefix(a.within).Masked().Contains(netip.MustParseAddr(a.address)) {
				t.Errorf("%s of %s is not in %s", a.address, p.name, a.within)
			}
		}
	}
}

func TestNetworksFollowTheTopology(t *testing.T) {
	seen := make(map[Topology]map[string]bool)
	for _, topology := range []Topology{Flat, Gateways} {
		seen[topology] = make(map[string]bool)
		for _, p := range places(3)[1:] {
			seen[topology][p.network(topology)] = true
		}
	}
	if len(seen[Flat]) != 1 || len(seen[Gateways]) != 3 {
		t.Errorf("got %v", seen)
	}
}

func TestFirewallGivesTheHubTheAPIServersAndDropsTheRest(t *testing.T) {
	for _, topology := range []Topology{Flat, Gateways} {
		text := firewall(topology, places(3))
		hub := strings.Index(text, `iifname "hub" ip daddr @apis tcp dport 6443 accept`)
		drop := strings.Index(text, `iifname "hub" counter name hubdrops drop`)
		silent := strings.Index(text, "iifname @silent drop")
		settled := strings.Index(text, "ct state established,related accept")
		if hub < 0 || drop < hub {
			t.Errorf("%s: the hub's rules are not in order:\n%s", topology, text)
		}
		if silent < 0 || settled < silent {
			t.Errorf("%s: a cut link would carry connections that stand:\n%s", topology, text)
		}
		if open := strings.Contains(text, "iifname @members oifname @members accept"); open != (topology == Flat) {
			t.Errorf("%s: members reach each other's pods: %v", topology, open)
		}
		if strings.Contains(text, "10.200.0.1") {
			t.Errorf("%s: the hub's own API server is among the members':\n%s", topology, text)
		}
	}
}

func TestOptionsAreRefusedWithTheWayOut(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"unknown topology":  {Options{Topology: "star"}, `want "flat" or "gateways"`},
		"too many members":  {Options{Members: 10}, "want 1 to 9"},
		"too few members":   {Options{Members: -1}, "want 1 to 9"},
		"hidden run folder": {Options{RunDir: "/var/lib/x"}, "choose one outside /var/"},
		"hidden cache":      {Options{CacheDir: "/run/x"}, "choose one outside /run/"},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Repo = "/"
			if _, err := c.o.withDefaults(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}
