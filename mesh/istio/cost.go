// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// bytesPerCluster is what one more subset costs an Envoy, measured with three
// endpoints each: 47 MB for 600, 159 MB for 2,000.
const bytesPerCluster = 80_000

// Bill is what rules add to one proxy, in the namespace where they add most.
type Bill struct {
	// Namespace is that namespace; "*" where all pay alike.
	Namespace string
	// Clusters and Endpoints are those added to what Envoy holds without weir.
	Clusters, Endpoints int
	// Bytes is an estimate of the memory of the Clusters.
	Bytes int64
	// Largest names the three Services that add most clusters, largest first.
	Largest []string
}

// Cost adds up what the rules of these Services cost a sidecar that reads them. A
// Service for which nothing would be rendered costs nothing, and so does one with
// steering OnDemand: it has no subsets. Gateways are not counted: they read the
// rules of all Services, whoever the clients are, but there are few of them.
func Cost(services ...Input) Bill {
	total := map[string]*Bill{everyone: {Namespace: everyone}}
	sizes := map[string]map[string]int{everyone: {}}
	for _, in := range services {
		in = in.withDefaults()
		clusters, endpoints := in.added()
		if clusters == 0 {
			continue
		}
		for _, ns := range in.clients() {
			if total[ns] == nil {
				total[ns], sizes[ns] = &Bill{Namespace: ns}, map[string]int{}
			}
			total[ns].Clusters += clusters
			total[ns].Endpoints += endpoints
			sizes[ns][in.Service.Namespace+"/"+in.Service.Name] += clusters
		}
	}
	worst := *total[everyone]
	for _, ns := range slices.Sorted(maps.Keys(total)) {
		b := *total[ns]
		if ns == everyone {
			continue
		}
		b.Clusters += total[everyone].Clusters
		b.Endpoints += total[everyone].Endpoints
		if b.Clusters > worst.Clusters || b.Clusters == worst.Clusters && b.Endpoints > worst.Endpoints {
			worst = b
		}
	}
	paid := maps.Clone(sizes[everyone])
	if worst.Namespace != everyone {
		maps.Copy(paid, sizes[worst.Namespace])
	}
	worst.Bytes = int64(worst.Clusters) * bytesPerCluster
	worst.Largest = largest(paid, 3)
	return worst
}

// added is what one Service adds to a proxy. Istio makes every subset for every
// port of the host, whether a route leads there or not.
func (in Input) added() (clusters, endpoints int) {
	rules, _ := Render(in)
	if rules.Weights == nil {
		return 0, 0
	}
	ports := len(rules.WeightedPorts) + len(rules.FenceOnlyPorts)
	seen := 0
	for _, c := range in.Clusters {
		seen += in.seenEndpoints(c)
	}
	clusters = len(in.hosts()) * ports * len(in.Clusters)
	if in.Subsets == HardSubset {
		return clusters, len(in.hosts()) * ports * seen
	}
	return clusters, clusters * seen
}

// seenEndpoints is how many addresses stand for a cluster's endpoints in a proxy:
// across networks, those of its gateways.
func (in Input) seenEndpoints(c Cluster) int {
	if c.Network == in.ConfigNetwork || c.Endpoints == 0 {
		return int(c.Endpoints)
	}
	n := 0
	for _, g := range in.Gateways {
		if g.Network == c.Network && (g.Cluster == c.Name || g.Cluster == "") {
			n += int(max(1, g.Addresses))
		}
	}
	return max(1, n)
}

func largest(sizes map[string]int, n int) []string {
	names := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a, b))
	})
	return names[:min(n, len(names))]
}

// Budget bounds what rules may add to a proxy.
type Budget struct{ Clusters, Endpoints int }

// DefaultBudget returns 2,000 clusters, about 160 MB a proxy, and 20,000
// endpoints.
func DefaultBudget() Budget { return Budget{Clusters: 2_000, Endpoints: 20_000} }

// Check returns an OverBudget reason, with the remedies, for each bound that the
// bill is over.
func (b Budget) Check(bill Bill) []Reason {
	var reasons []Reason
	over := func(what string, is, allowed int) {
		if is <= allowed {
			return
		}
		where := "every proxy"
		if bill.Namespace != everyone {
			where = "a proxy in namespace " + bill.Namespace
		}
		reasons = append(reasons, Reason{Code: OverBudget, Message: fmt.Sprintf(
			"the rules would add %d %s to %s, over the budget of %d (largest: %s); name the callers in clients.namespaces of their TrafficPolicy, or narrow what proxies import with Sidecars and raise the budget",
			is, what, where, allowed, strings.Join(bill.Largest, ", "))})
	}
	over("Envoy clusters", bill.Clusters, b.Clusters)
	over("endpoints", bill.Endpoints, b.Endpoints)
	return reasons
}
