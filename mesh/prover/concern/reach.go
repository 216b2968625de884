// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package concern

import (
	"slices"
	"strconv"
	"strings"
)

// Reach tells how one proxy can reach one host.
type Reach struct {
	// Cluster means that the proxy holds a cluster of the host, and with it
	// the host's endpoints. Every other way needs one.
	Cluster bool
	// Passthrough means that the proxy holds clusters that it chooses by the
	// SNI of what comes in, as an east-west gateway does. It sends by its
	// clients' choice, not by its own.
	Passthrough bool
	// Subsets are the named subsets of the host whose clusters the proxy
	// holds, in order and without the default.
	Subsets []string
	// Generations are those of our routes in the proxy, in order.
	Generations []int64
	// Foreign names one use of the host's clusters that is not a route of
	// ours; empty when there is none.
	Foreign string
}

// Weighted tells whether routes of ours, of whatever generation, lead the
// proxy to the host.
func (r Reach) Weighted() bool { return len(r.Generations) > 0 }

// Holds tells whether the proxy holds endpoints of the host.
func (r Reach) Holds() bool { return r.Cluster || r.Passthrough }

// Unweighted tells by what way that is not ours the proxy can reach the host;
// empty when there is none. A cluster that no route of ours uses counts: a
// filter or a header may choose it.
func (r Reach) Unweighted() string {
	switch {
	case r.Foreign != "":
		return r.Foreign
	case r.Cluster && !r.Weighted():
		return "a cluster that no route of weir's uses"
	}
	return ""
}

// Merge adds what o has, for a service with more than one host.
func (r Reach) Merge(o Reach) Reach {
	held := r.Holds()
	// A host that is reached by a cluster alone must not hide behind another
	// host of the service that has routes.
	foreign := r.Foreign
	for _, one := range []Reach{r, o} {
		if foreign == "" {
			foreign = one.Unweighted()
		}
	}
	r.Foreign = foreign
	r.Cluster = r.Cluster || o.Cluster
	r.Passthrough = r.Passthrough || o.Passthrough
	r.Generations = union(r.Generations, o.Generations)
	// A subset counts as held only where every host that is held has it.
	switch {
	case !o.Holds():
	case !held:
		r.Subsets = slices.Clone(o.Subsets)
	default:
		r.Subsets = slices.DeleteFunc(slices.Clone(r.Subsets), func(s string) bool {
			return !slices.Contains(o.Subsets, s)
		})
	}
	return r
}

func union(a, b []int64) []int64 {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// clusterName is an Envoy cluster of istiod's in its parts.
type clusterName struct {
	port   int32
	subset string
	host   string
	sni    bool
}

// parseCluster reads outbound|port|subset|host, and the form with _. between
// the parts that a gateway in AUTO_PASSTHROUGH has.
func parseCluster(name string) (clusterName, bool) {
	rest, ok := strings.CutPrefix(name, "outbound")
	if !ok {
		return clusterName{}, false
	}
	sep := "|"
	sni := strings.HasPrefix(rest, "_.")
	if sni {
		sep = "_."
	}
	parts := strings.SplitN(rest, sep, 4)
	if len(parts) != 4 || parts[0] != "" || parts[3] == "" {
		return clusterName{}, false
	}
	port, err := strconv.ParseUint(parts[1], 10, 16)
	if err != nil {
		return clusterName{}, false
	}
	return clusterName{port: int32(port), subset: parts[2], host: parts[3], sni: sni}, true
}
