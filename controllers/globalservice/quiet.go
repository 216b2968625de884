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

// quietScrapes is how many scrapes in a row must show no arrival at a pod before it counts as quiet.
const quietScrapes = 2

// idleAcrossNetworks is for how many seconds, besides, nothing may have been in flight at a pod that other networks call while
// other pods of the member serve: a gateway gave it connections for good, fenced or not. It is longer than proxies keep a
// connection that carries nothing, istio.Reflex.IdleAcrossNetworks, so that none is left which could bring a request yet.
const idleAcrossNetworks = 6

// markAcross notes which members others may call through a gateway between networks.
func (in *input) markAcross() {
	for i := range in.members {
		m := &in.members[i]
		m.across = slices.ContainsFunc(in.members, func(other memberView) bool {
			return !other.left && networkOf(other) != networkOf(*m)
		})
	}
}

// loadOf sums the statistics of the pods that are to fall quiet: the fenced ones, or where none is fenced, all. A pod without an
// address, such as one that no node has room for, was never called and has no statistics to wait for.
func loadOf(m memberView, now time.Time) (v1alpha1.QuietState, *int64, *int64) {
	since := now.Sub(m.since)
	pods := slices.DeleteFunc(slices.Clone(m.facts.GetPods()), func(p *pb.Pod) bool { return p.GetTerminating() || p.GetIp() == "" })
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
	// Where no pod serves, remote proxies have let go of the gateway, and of all that idles through it; unless it is one for
	// another service that the same pods are behind.
	held := m.across && (len(fenced) < len(pods) || len(m.shared.with) > 0)
	quiet := uint32(quietScrapes)
	for _, p := range fenced {
		quiet = min(quiet, scrapesOf(p.GetLoad(), held))
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

// scrapesOf is how many quiet scrapes count at a pod. One that may hold connections is not wholly quiet before they are gone; an
// agent that does not tell how long a pod has idled cannot be waited for.
func scrapesOf(l *pb.Load, held bool) uint32 {
	if held && l.IdleSeconds != nil && l.GetIdleSeconds() < idleAcrossNetworks {
		return min(l.GetQuietScrapes(), quietScrapes-1)
	}
	return l.GetQuietScrapes()
}
