// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Names and marks by which weir's rules are found again.
const (
	// Prefix starts every object, subset and route name that weir writes, so
	// that none of them can meet a user's name by accident.
	Prefix = "weir-"

	// FieldManager is the one server-side apply manager that writes rules.
	FieldManager = "weir-globalservice"

	// LabelManagedBy marks an object as weir's, as on all that weir makes in a
	// member; its value is ManagedBy.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "weir"
	// LabelService names the Service a rule belongs to.
	LabelService = "weir.io/service"
	// LabelGeneration is the shift's generation, on a VirtualService only: a
	// DestinationRule must not change while weights move, or proxies would be
	// sent clusters for nothing.
	LabelGeneration = "weir.io/generation"

	// LabelCluster is the endpoint label by which istiod tells clusters apart.
	LabelCluster = "topology.istio.io/cluster"

	// DefaultDomain is the domain of Services where none is given.
	DefaultDomain = "cluster.local"
	// ClusterSetDomain is the domain of the Multi-Cluster Services API.
	ClusterSetDomain = "clusterset.local"
	// DefaultSystemNamespace is where istiod runs where none is given.
	DefaultSystemNamespace = "istio-system"
)

const (
	maxLabel   = 63                     // a DNS label, RFC 1123.
	maxCluster = maxLabel - len(Prefix) // what is left of it for a cluster's name.
	hashLength = 10                     // hex digits: 40 bits keep thousands of clusters apart.
	hashMark   = "-x"                   // stands before the hash.
)

// Branch tells apart the routes that one port has in a VirtualService.
type Branch string

const (
	// BranchAll is the only route of its port.
	BranchAll Branch = "all"
	// BranchReads takes GET, HEAD and OPTIONS, which HTTP calls safe.
	BranchReads Branch = "reads"
	// BranchRest takes what BranchReads left.
	BranchRest Branch = "rest"
)

// SubsetName returns the subset that prefers the cluster: a DNS label of at
// most 63 characters. A cluster's name that does not fit into one, because it
// is long, dotted or not lower case, is replaced by its head and a hash.
func SubsetName(cluster string) string {
	if isDNSLabel(cluster, maxCluster) && !hasHashShape(cluster) {
		return Prefix + cluster
	}
	sum := sha256.Sum256([]byte(cluster))
	head := labelHead(cluster, maxCluster-hashLength-len(hashMark))
	return Prefix + head + hashMark + hex.EncodeToString(sum[:])[:hashLength]
}

// ObjectName returns the name of the DestinationRule and the VirtualService of
// one host of a Service. A Service's name has no dot, so the two hosts of one
// Service, and those of any two Services, never share a name.
func ObjectName(service string, clusterSet bool) string {
	if clusterSet {
		return Prefix + service + ".clusterset"
	}
	return Prefix + service
}

// HostName returns the name by which the mesh knows a Service in a domain, for
// example DefaultDomain or ClusterSetDomain.
func HostName(service, namespace, domain string) string {
	return service + "." + namespace + ".svc." + domain
}

// RouteName returns the name that a route carries in the VirtualService and,
// unchanged, in the route configuration that proxies get. Every generation has
// names of its own: that is how a canary tells whose weights a push holds, since
// a weight of 0 leaves no other trace on the wire.
func RouteName(generation int64, port int32, branch Branch) string {
	return routePrefix + strconv.FormatInt(generation, 10) + "-" +
		strconv.FormatInt(int64(port), 10) + "-" + string(branch)
}

const routePrefix = Prefix + "g"

// ParseRouteName reads the generation out of a name that RouteName made. It
// answers false for every other string, and never for one that RouteName made
// from a generation and a port above zero.
func ParseRouteName(name string) (generation int64, ok bool) {
	rest, ok := strings.CutPrefix(name, routePrefix)
	if !ok {
		return 0, false
	}
	fields := strings.Split(rest, "-")
	if len(fields) != 3 {
		return 0, false
	}
	generation, ok = positive(fields[0], 64)
	if !ok {
		return 0, false
	}
	if _, ok = positive(fields[1], 32); !ok {
		return 0, false
	}
	switch Branch(fields[2]) {
	case BranchAll, BranchReads, BranchRest:
		return generation, true
	}
	return 0, false
}

// positive reads a number above zero that is written as this package writes
// them: no sign, no leading zero.
func positive(s string, bits int) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, bits)
	if err != nil || n <= 0 || strconv.FormatInt(n, 10) != s {
		return 0, false
	}
	return n, true
}

// EnvoyCluster returns the name of the Envoy cluster for a subset of a host in
// a sidecar or an ingress gateway. An empty subset names the default cluster,
// which routes that are not ours use.
func EnvoyCluster(port int32, subset, host string) string {
	return "outbound|" + strconv.FormatInt(int64(port), 10) + "|" + subset + "|" + host
}

// SNICluster returns the name of the same cluster on the receiving east-west
// gateway, which is also the SNI that clients of other networks send.
func SNICluster(port int32, subset, host string) string {
	return "outbound_." + strconv.FormatInt(int64(port), 10) + "_." + subset + "_." + host
}

// RouteConfigName returns the name of the route configuration in which a
// sidecar's routes for a host's port stand: the port alone, or host and port
// where the port's protocol is left to detection. A port that carries no HTTP
// has none, and the answer is empty.
func RouteConfigName(p Port, host string) string {
	switch p.protocol() {
	case protocolHTTP, protocolGRPC:
		return strconv.FormatInt(int64(p.Number), 10)
	case protocolDetect:
		return host + ":" + strconv.FormatInt(int64(p.Number), 10)
	case protocolTLS, protocolTCP, protocolUDP:
	}
	return ""
}

// isDNSLabel says whether s is a DNS label of RFC 1123 no longer than limit.
func isDNSLabel(s string, limit int) bool {
	if s == "" || len(s) > limit || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if !isLabelByte(s[i]) {
			return false
		}
	}
	return true
}

func isLabelByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-'
}

// hasHashShape says whether a name ends as a hashed one does. Such names are
// hashed as well: else a cluster could be given the subset of another.
func hasHashShape(s string) bool {
	i := len(s) - hashLength - len(hashMark)
	if i < 0 || !strings.HasPrefix(s[i:], hashMark) {
		return false
	}
	return strings.Trim(s[i+len(hashMark):], "0123456789abcdef") == ""
}

// labelHead returns the first characters of s as they may stand in a label, so
// that a person still knows the cluster. It is never empty, and starts and ends
// with a letter or digit.
func labelHead(s string, limit int) string {
	b := make([]byte, 0, limit)
	for i := 0; i < len(s) && len(b) < limit; i++ {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if !isLabelByte(c) {
			c = '-'
		}
		if c != '-' || len(b) > 0 {
			b = append(b, c)
		}
	}
	if len(b) == 0 {
		return "cluster"
	}
	return strings.TrimRight(string(b), "-")
}
