// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"github.com/weir-io/weir/mesh/prover/census"
)

// missing finds the proxies that are on no replica. While a replica can not be
// read, those on it would look missing too; the replica is named then, which
// blocks as well.
func (j *judgement) missing() []census.Missing {
	if len(j.o.Replicas) == 0 {
		return nil
	}
	if !j.o.CensusKnown {
		j.block(ReasonNoCensus, "", "the member's pods could not be listed")
		return nil
	}
	connected := map[string]bool{}
	for _, r := range j.o.Replicas {
		if !bound(r) || j.o.Now.Sub(r.Reading.Ended) > j.rules.Lease {
			return nil
		}
		for _, c := range r.Reading.Connections {
			connected[c.Proxy] = true
		}
	}
	all := census.Compare(j.o.Pods, connected, j.o.Settled)
	for _, m := range all {
		code := ReasonDisconnected
		if m.Reason == census.ReasonStarting {
			code = ReasonStarting
		}
		j.block(code, m.Proxy, "connected to no istiod")
	}
	return all[:min(len(all), j.rules.MaxProxies)]
}
