// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package census

import (
	"cmp"
	"slices"
	"time"
)

// Compare returns the proxies of pods that are not in connected, sorted by
// name. Connected holds pod.namespace of every proxy that any replica lists.
//
// A starting proxy counts, since it may have got its rules from a replica that
// was behind before it shows up anywhere. One of a pod created at settled or
// later does not: all replicas served what is wanted by then, and a proxy
// begins with nothing. A zero settled lets every starting proxy count.
func Compare(pods []Pod, connected map[string]bool, settled time.Time) []Missing {
	var out []Missing
	for _, p := range pods {
		if p.Kind == KindNone || p.Phase == PhaseDone || connected[p.Proxy()] {
			continue
		}
		reason := ReasonDisconnected
		if p.Phase == PhaseStarting {
			fresh := !settled.IsZero() && !p.Created.Before(settled) && p.ProxyRestarts == 0
			if fresh {
				continue
			}
			reason = ReasonStarting
		}
		out = append(out, Missing{Proxy: p.Proxy(), Kind: p.Kind, Reason: reason})
	}
	slices.SortFunc(out, func(a, b Missing) int { return cmp.Compare(a.Proxy, b.Proxy) })
	return out
}
