// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-io/weir/e2e/rig/netns"
)

// makeNetwork makes the router with its firewall and the place outside. The clusters join later, each by itself.
func makeNetwork(ctx context.Context, t Topology, all []place) error {
	for _, s := range []netns.Space{router, outside} {
		if _, err := netns.Create(ctx, s.Name); err != nil {
			return err
		}
	}
	if err := router.Sysctl(ctx, "net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0"); err != nil {
		return err
	}
	if err := router.NFT(ctx, firewall(t, all)); err != nil {
		return err
	}
	// What is sent to a cluster whose link is gone is lost without an answer, as on its way to a machine without power.
	for _, p := range all {
		if err := router.IP(ctx, "route add blackhole "+p.pods()+" metric 1000", "route add blackhole "+p.balanced()+" metric 1000"); err != nil {
			return err
		}
	}
	if err := router.IP(ctx,
		"link add "+outsideLink+" type veth peer name up0 netns "+outside.Name,
		"address add "+outsideGateway+"/30 dev "+outsideLink,
		"link set "+outsideLink+" up",
	); err != nil {
		return err
	}
	return outside.IP(ctx, "address add "+outsideAddress+"/30 dev up0", "link set up0 up", "route add default via "+outsideGateway)
}

// joinNetwork makes a cluster's namespace and plugs it into the router. The node's addresses are on the loopback device;
// each pod gets a link of its own, so that all of its packets pass the node's NAT both ways.
func joinNetwork(ctx context.Context, p place) error {
	s, err := netns.Create(ctx, p.space().Name)
	if err != nil {
		return err
	}
	if err := s.Sysctl(ctx, "net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0"); err != nil {
		return err
	}
	if err := router.IP(ctx,
		"link add "+p.name+" type veth peer name up0 netns "+s.Name,
		"address add "+p.gateway()+"/30 dev "+p.name,
		"link set "+p.name+" up",
		"route add "+p.pods()+" via "+p.uplink(),
		"route add "+p.balanced()+" via "+p.uplink(),
	); err != nil {
		return err
	}
	// A load balancer's address that no Service holds ends here; it must not go back to the router and round again.
	return s.IP(ctx,
		"address add "+p.node()+"/32 dev lo",
		"address add "+p.dns()+"/32 dev lo",
		"address add "+p.uplink()+"/30 dev up0",
		"link set up0 up",
		"route add default via "+p.gateway()+" src "+p.node(),
		"route add unreachable "+p.pods()+" metric 1000",
		"route add unreachable "+p.balanced()+" metric 1000",
	)
}

// leaveNetwork takes a cluster's namespace away with its links and connections.
func leaveNetwork(ctx context.Context, p place) error {
	if router.Exists() {
		// The link goes with the namespace, but only once the kernel has cleaned it up; its name is needed sooner.
		_ = router.IP(ctx, "link delete "+p.name)
	}
	return p.space().Delete(ctx)
}

// firewall is the router's rule set. Links in the set "silent" carry nothing, nor do pairs in the set "apart".
func firewall(t Topology, all []place) string {
	var members, apis, balanced []string
	for _, p := range all {
		if p.name == Hub {
			continue
		}
		members = append(members, `"`+p.name+`"`)
		apis = append(apis, p.node())
		balanced = append(balanced, p.balanced())
	}
	between := "iifname @members oifname @members accept"
	if t == Gateways {
		between = fmt.Sprintf("iifname @members ip daddr @balanced accept\n  iifname @members ip daddr @apis tcp dport %d accept", apiPort)
	}
	return fmt.Sprintf(`table inet weir {
 set silent { type ifname; }
 set apart { type ifname . ifname; }
 set members { type ifname;%s }
 set apis { type ipv4_addr;%s }
 set balanced { type ipv4_addr; flags interval;%s }
 counter hubdrops { }
 chain forward {
  type filter hook forward priority 0; policy drop;
  iifname @silent drop
  oifname @silent drop
  iifname . oifname @apart drop
  ct state established,related accept
  iifname "hub" ip daddr @apis tcp dport %d accept
  iifname "hub" counter name hubdrops drop
  iifname @members oifname "hub" accept
  iifname "%s" ip daddr @balanced accept
  iifname "%s" tcp dport %d accept
  iifname "%s" oifname "hub" udp dport 30000-32767 accept
  %s
 }
}
`, elements(members), elements(apis), elements(balanced), apiPort, outsideLink, outsideLink, apiPort, outsideLink, between)
}

// elements is what a set begins with; a set of nothing begins empty.
func elements(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return " elements = { " + strings.Join(all, ", ") + " }"
}
