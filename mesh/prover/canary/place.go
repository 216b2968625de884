// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"net/netip"
	"strings"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/structpb"
)

// namePrefix starts the name of every canary's node.
const namePrefix = "weir-canary-"

// Place is where a canary stands: it is served as a sidecar there would be.
type Place struct {
	// Name tells this agent's canaries from those of another, for example the
	// agent's pod name.
	Name string
	// Namespace is the one of the token that the canary shows, Istio's system
	// namespace as a rule. istiod refuses a node of another.
	Namespace string
	// IP is the agent's own address.
	IP netip.Addr
	// ClusterID and Network are the member's in Istio's words.
	ClusterID string
	Network   string
	// Version is the Istio version that the canary claims, for example 1.31.0;
	// istiod serves older proxies differently.
	Version string
}

// ProxyName returns the name under which istiod lists the canary.
func (p Place) ProxyName() string { return namePrefix + p.Name + "." + p.Namespace }

// IsCanary tells whether istiod's name for a proxy is one of a canary in the
// namespace, of this agent or of another.
func IsCanary(proxy, namespace string) bool {
	return strings.HasPrefix(proxy, namePrefix) && strings.HasSuffix(proxy, "."+namespace)
}

// Node returns the identity that the canary shows.
func (p Place) Node() *core.Node {
	text := structpb.NewStringValue
	return &core.Node{
		Id: "sidecar~" + p.IP.String() + "~" + p.ProxyName() + "~" + p.Namespace + ".svc.cluster.local",
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{
			"NAMESPACE":     text(p.Namespace),
			"CLUSTER_ID":    text(p.ClusterID),
			"NETWORK":       text(p.Network),
			"ISTIO_VERSION": text(p.Version),
			"LABELS": structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
				"app": text("weir-canary"),
			}}),
		}},
	}
}
