// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"slices"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/controllers/mutant"
	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/stream"
)

// quietScrapes is how many scrapes in a row without an arrival make a pod quiet.
const quietScrapes = 2

// measuredLately is how old a statistic may be for a switch to hang on it. An agent reads each once in half a minute, and
// each second while anything moves.
const measuredLately = time.Minute

// quiet says whether nothing arrives, measured lately. received is when the statistic was told.
func quiet(load *pb.Load, received, now time.Time) bool {
	return lately(load, received, now) && load.GetQuietScrapes() >= quietScrapes
}

func lately(load *pb.Load, received, now time.Time) bool {
	return load.GetMeasured() && now.Sub(received)+time.Duration(load.GetAgeMs())*time.Millisecond < measuredLately
}

// safety is what stands between a drained cluster and its switch.
type safety struct {
	callers []string // who still arrives from outside the mesh
	busy    []string // gateways that still receive, or that cannot be measured
}

func (s safety) safe() bool { return len(s.callers) == 0 && len(s.busy) == 0 }

// counted is said of callers that cannot be named: the statistics of a sidecar hold no name of who calls without one.
const counted = "%s/%s: requests still arrive at %s, or cannot be measured there; callers are counted, since a sidecar's statistics do not name who has none: " +
	"the access log of istio-proxy in those pods has their addresses"

// safetyOf reads the statistics of the cluster's own gateways and of the drained services' pods.
func safetyOf(snap *stream.Snapshot, services []v1alpha1.GlobalService, now time.Time) safety {
	var out safety
	if mutant.SkipQuiet {
		return out
	}
	told := snap.Member
	if told.Value == nil {
		out.busy = append(out.busy, "gateways: its agent has not told which there are")
	}
	for _, g := range told.Value.GetGateways() {
		switch load := g.GetLoad(); {
		case !lately(load, told.ReceivedAt, now):
			out.busy = append(out.busy, g.GetName()+": not measured")
		case !quiet(load, told.ReceivedAt, now):
			out.busy = append(out.busy, g.GetName()+": requests arrive")
		}
	}
	for _, gs := range services {
		fact, ok := snap.Services[keyOf(&gs)]
		if !ok {
			continue
		}
		arriving := 0
		for _, p := range fact.Value.GetPods() {
			load := p.GetLoad()
			if !p.GetReady() || p.GetTerminating() || quiet(load, fact.ReceivedAt, now) {
				continue
			}
			if len(load.GetCallers()) > 0 {
				for _, c := range load.GetCallers() {
					out.callers = append(out.callers, fmt.Sprintf("%s/%s: %s", gs.Namespace, gs.Name, c))
				}
				continue
			}
			arriving++
		}
		if arriving > 0 {
			out.callers = append(out.callers, fmt.Sprintf(counted, gs.Namespace, gs.Name, hub.Count(arriving, "pod")))
		}
	}
	slices.Sort(out.callers)
	out.callers = slices.Compact(out.callers)
	slices.Sort(out.busy)
	return out
}

// unowned names the workloads behind drained services, which weir does not own: they run on, fenced.
func unowned(cluster string, services []v1alpha1.GlobalService) []string {
	var out []string
	for _, gs := range services {
		for _, c := range gs.Status.Clusters {
			if c.Name != cluster {
				continue
			}
			for _, w := range c.Workloads {
				out = append(out, gs.Namespace+"/"+w)
			}
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), 100)]
}
