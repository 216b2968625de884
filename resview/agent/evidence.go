// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weir-io/weir/mesh/prover"
	"github.com/weir-io/weir/resview/pb"
)

// maxMissing bounds the proxies that are named as missing of the whole member, as the wire does.
const maxMissing = 200

// withEvidence fills in what only the prover knows of the member: which istiods can not be asked, and which proxies are
// connected to none. It changes nothing of what it was given.
func withEvidence(member *pb.MemberFacts, verdicts map[prover.Key]prover.Verdict) *pb.MemberFacts {
	faults, missing := map[string]string{}, map[string]bool{}
	connected := 0
	for _, v := range verdicts {
		connected = max(connected, v.Connected)
		for _, i := range v.Fence.Istiods {
			if unasked(i.Reason) {
				faults[i.UID] = string(i.Reason)
			}
		}
		for _, m := range v.Fence.Missing {
			missing[m.Proxy+": "+string(m.Reason)] = true
		}
	}
	if len(faults) == 0 && len(missing) == 0 && connected == 0 {
		return member
	}
	out := proto.CloneOf(member)
	out.ConnectedProxies = uint32(connected)
	for _, i := range out.GetIstiods() {
		i.Error = faults[i.GetUid()]
	}
	names := slices.Sorted(maps.Keys(missing))
	out.MissingCount = uint32(len(names)) //nolint:gosec // bounded by pods.
	out.MissingProxies = names[:min(len(names), maxMissing)]
	return out
}

// unasked says whether a reason means that a replica gives no answer, whatever it is asked.
func unasked(r prover.ReasonCode) bool {
	switch r {
	case prover.ReasonUnreachable, prover.ReasonNoAccess, prover.ReasonUnreadable, prover.ReasonNoCanary:
		return true
	default:
		return false
	}
}
