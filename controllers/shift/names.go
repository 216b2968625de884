// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/shift"
)

// dnsOf says whether answers, or caches of them, may name a cluster, as is on record. Where names are answered at all, a
// cluster of which nothing is on record may be named.
func dnsOf(gs *v1alpha1.GlobalService, cluster string) shift.DNS {
	if gs.Status.Names == nil {
		return shift.Unused
	}
	for _, c := range gs.Status.Names.Clusters {
		var out shift.DNS
		if c.Name == cluster && out.UnmarshalText([]byte(c.Standing)) == nil {
			return out
		}
	}
	return shift.Named
}
