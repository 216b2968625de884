// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import "strings"

// protocol is what Istio takes a port to carry, as far as rules differ by it.
type protocol int

const (
	protocolDetect protocol = iota // undeclared: Istio looks at the first bytes.
	protocolHTTP
	protocolGRPC
	protocolTLS // passed through: the proxy sees no requests.
	protocolTCP
	protocolUDP // not Istio's.
)

// appProtocols are values of appProtocol that Kubernetes defines and that are
// taken whole, before any prefix is looked at.
var appProtocols = map[string]protocol{
	"kubernetes.io/h2c": protocolHTTP,
	"kubernetes.io/ws":  protocolHTTP,
	"kubernetes.io/wss": protocolTLS,
}

var prefixes = map[string]protocol{
	"http":       protocolHTTP,
	"http2":      protocolHTTP,
	"http_proxy": protocolHTTP,
	"grpc":       protocolGRPC,
	"https":      protocolTLS,
	"tls":        protocolTLS,
	"tcp":        protocolTCP,
	"mongo":      protocolTCP,
	"redis":      protocolTCP,
	"mysql":      protocolTCP,
	"udp":        protocolUDP,
}

// serverFirst are ports on which Istio never detects a protocol, because the
// server speaks first there and detection would wait for the client.
var serverFirst = map[int32]bool{25: true, 53: true, 3306: true, 27017: true}

// protocol follows Istio's own rules: appProtocol, else the port name up to its
// first dash, without regard to case, else detection.
func (p Port) protocol() protocol {
	switch strings.ToUpper(p.Protocol) {
	case "UDP", "SCTP":
		return protocolUDP
	}
	name := p.Name
	if p.AppProtocol != "" {
		name = p.AppProtocol
		if proto, ok := appProtocols[name]; ok {
			return proto
		}
	}
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "grpc-web") {
		return protocolGRPC
	}
	name, _, _ = strings.Cut(name, "-")
	if proto, ok := prefixes[name]; ok {
		return proto
	}
	if serverFirst[p.Number] {
		return protocolTCP
	}
	return protocolDetect
}

// carriesHTTP says whether routes, and so weights and retries, apply to a port.
func (p protocol) carriesHTTP() bool {
	return p == protocolHTTP || p == protocolGRPC || p == protocolDetect
}
