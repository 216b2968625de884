// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"fmt"

	"github.com/weir-io/weir/e2e/rig/netns"
)

// prefix begins the name of everything that the rig makes outside its run directory.
const prefix = "weir-"

const (
	apiPort     = 6443
	servicesNet = "10.96.0.0/16" // the same in each cluster, as in most real fleets
	firstVIP    = "10.96.0.1"    // where pods find their API server
)

// place is where a cluster stands in the rig's network. It follows from the cluster's number alone.
type place struct {
	name   string
	number int // 0 for the hub
}

// places returns the hub and its members in order.
func places(members int) []place {
	out := []place{{name: Hub}}
	for i := 1; i <= members; i++ {
		out = append(out, place{name: fmt.Sprintf("c%d", i), number: i})
	}
	return out
}

func (p place) space() netns.Space { return netns.Space{Name: prefix + p.name} }

// pods is the range of the node and its pods.
func (p place) pods() string { return fmt.Sprintf("10.%d.0.0/16", 200+p.number) }

// node is the address of the node and of the API server.
func (p place) node() string { return fmt.Sprintf("10.%d.0.1", 200+p.number) }

// dns is the address on which CoreDNS answers the cluster's pods.
func (p place) dns() string { return fmt.Sprintf("10.%d.0.10", 200+p.number) }

// balanced is the range of load balancers' addresses; ingress and eastWest are the two in use.
func (p place) balanced() string { return fmt.Sprintf("10.%d.0.0/24", 210+p.number) }
func (p place) ingress() string  { return fmt.Sprintf("10.%d.0.1", 210+p.number) }
func (p place) eastWest() string { return fmt.Sprintf("10.%d.0.2", 210+p.number) }

// uplink and gateway are the two ends of the cluster's link to the router.
func (p place) uplink() string  { return fmt.Sprintf("10.199.%d.2", p.number) }
func (p place) gateway() string { return fmt.Sprintf("10.199.%d.1", p.number) }

func (p place) server() string   { return fmt.Sprintf("https://%s:%d", p.node(), apiPort) }
func (p place) nodeName() string { return p.name + "-node" }

// region and zone are the node's locality: each cluster is a region of its own.
func (p place) region() string { return fmt.Sprintf("region-%d", p.number) }
func (p place) zone() string   { return p.region() + "a" }

// network is the name of the network that the cluster's pods are on, as Istio knows it.
func (p place) network(t Topology) string {
	if t == Gateways {
		return fmt.Sprintf("net%d", p.number)
	}
	return "net1"
}

// router joins the clusters; outside is where clients and operators stand that belong to no cluster.
var (
	router  = netns.Space{Name: prefix + "router"}
	outside = netns.Space{Name: prefix + "outside"}
)

const (
	outsideAddress = "10.199.100.2"
	outsideGateway = "10.199.100.1"
	outsideLink    = "outside"
)
