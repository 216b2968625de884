// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"slices"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/pb"
)

// loadTime is how old statistics may be for anything to rest on them.
const loadTime = 15 * time.Second

// How many scrapes in a row, a second apart, must show no arrival at a pod before it counts as quiet. Across networks a connection
// stays with the pod that a gateway gave it to, fenced or not, while other pods of the member serve: there the silence must be
// longer than proxies keep a connection that carries nothing, so that none is left which could bring a request yet.
const (
	quietScrapes               = 2
	quietScrapesAcrossNetworks = 7
)

// markAcross notes which members others may call through a gateway between networks.
func (in *input) markAcross() {
	for i := range in.members {
		m := &in.members[i]
		m.across = slices.ContainsFunc(in.members, func(other memberView) bool {
			return !other.left && networkOf(other) != networkOf(*m)
		})
	}
}

// quietScrapes is how many quiet scrapes the member's fenced pods need while others of it serve.
func (m memberView) quietScrapes() uint32 {
	if m.across {
		return quietScrapesAcrossNetworks
	}
	return quietScrapes
}

// loadOf sums the statistics of the pods that are to fall quiet: the fenced ones, or where none is fenced, all. since is
// how long ago the facts were received, and scrapes how many quiet ones are asked for where only some pods are fenced. A pod without an address, such as one that no node has room for, was never called and
// has no statistics to wait for.
func loadOf(facts *pb.ServiceFacts, since time.Duration, scrapes uint32) (v1alpha1.QuietState, *int64, *int64) {
	pods := slices.DeleteFunc(slices.Clone(facts.GetPods()), func(p *pb.Pod) bool { return p.GetTerminating() || p.GetIp() == "" })
	var inFlight, rate int64
	measured, compared := true, true
	for _, p := range pods {
		measured = measured && p.GetLoad().GetMeasured() && since+time.Duration(p.GetLoad().GetAgeMs())*time.Millisecond < loadTime
		inFlight += int64(min(p.GetLoad().GetInFlight(), 1<<40))
		compared = compared && p.GetLoad() != nil && p.GetLoad().Rate != nil
		rate += int64(p.GetLoad().GetRate() * 1000)
	}
	if !measured {
		return v1alpha1.QuietNotMeasured, nil, nil
	}
	fenced := slices.DeleteFunc(slices.Clone(pods), func(p *pb.Pod) bool { return !p.GetFenced() })
	if len(fenced) == len(pods) {
		scrapes = quietScrapes // remote proxies have let go of the gateway, and of all that idles through it
	}
	quiet := uint32(quietScrapes)
	for _, p := range fenced {
		had := p.GetLoad().GetQuietScrapes()
		if had < scrapes {
			had = min(had, quietScrapes-1)
		}
		quiet = min(quiet, had)
	}
	states := []v1alpha1.QuietState{v1alpha1.QuietBusy, v1alpha1.QuietOnce, v1alpha1.QuietQuiet}
	state := states[quiet]
	if len(fenced) == 0 && rate > 0 {
		state = v1alpha1.QuietBusy
	}
	if !compared {
		return state, &inFlight, nil // one look tells no rate, and a 0 would read as silence
	}
	return state, &inFlight, &rate
}
