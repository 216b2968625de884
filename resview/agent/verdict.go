// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"github.com/weir-io/weir/mesh/prover"
	"github.com/weir-io/weir/mesh/prover/quiet"
	"github.com/weir-io/weir/resview/pb"
)

// Bounds of what is told of one verdict; the wire's are wider.
const (
	maxNamed   = 50
	maxProxies = 200
)

// proofOf tells the hub of a verdict. asked is the target as it is asked now; a verdict that is not settled may be of the
// target before, so it proves nothing yet, whatever its level, but still says what stands in the way.
func proofOf(v prover.Verdict, asked *pb.Target, settled bool, now time.Time) *pb.ProofFacts {
	age := ageOf(v.At, now)
	verdict := func(p prover.Proof, generation int64) *pb.Verdict {
		out := verdictOf(p, generation, age)
		if !settled {
			out.Level, out.NeedsNewGeneration = string(prover.LevelNone), false
		}
		return out
	}
	out := &pb.ProofFacts{Ref: asked.GetRef(), Question: asked.GetQuestion(), Fence: verdict(v.Fence, asked.GetFenceGeneration())}
	if p := asked.GetPhase(); p == phaseRules || p == phaseWeights {
		out.Rules = verdict(v.Rules, asked.GetGeneration())
	}
	if asked.GetPhase() == phaseWeights {
		out.Weights = verdict(v.Weights, asked.GetGeneration())
	}
	return out
}

func verdictOf(p prover.Proof, generation, age int64) *pb.Verdict {
	out := &pb.Verdict{
		Generation: generation, Level: string(p.Level), AgeMs: age,
		NeedsNewGeneration: p.NeedsNewGeneration, MissingCount: uint32(len(p.Missing)), //nolint:gosec // bounded by pods.
	}
	if !p.Fresh && p.Level == prover.LevelProven {
		// A proof that lapsed proves nothing until it is read again.
		out.Level = string(prover.LevelNone)
	}
	for _, m := range p.Missing[:min(len(p.Missing), maxNamed)] {
		out.Missing = append(out.Missing, m.Proxy+": "+string(m.Reason))
	}
	for _, u := range p.Unweighted[:min(len(p.Unweighted), maxNamed)] {
		out.Unweighted = append(out.Unweighted, u.Proxy+": "+u.Via)
	}
	for _, r := range p.Reasons[:min(len(p.Reasons), maxNamed)] {
		out.Reasons = append(out.Reasons, &pb.Missing{Kind: kindOf(r), Subject: r.Subject, Message: messageOf(r)})
	}
	for _, i := range p.Istiods {
		to := &pb.IstiodVerdict{Name: i.Name, Push: i.Push, ProxyCount: uint32(max(i.Concerned, 0))} //nolint:gosec // bounded by pods.
		for _, x := range i.Proxies[:min(len(i.Proxies), maxProxies)] {
			to.Proxies = append(to.Proxies, &pb.ProxyVerdict{Name: x.Name, Acked: x.Acked, Proven: x.OK})
		}
		out.Istiods = append(out.Istiods, to)
	}
	return out
}

// oldest is the age of what was never read.
const oldest = 24 * time.Hour

func ageOf(at, now time.Time) int64 { return min(max(now.Sub(at), 0), oldest).Milliseconds() }

// kindOf says whether a reason is about a proxy, whose patience a user may limit, or about something else.
func kindOf(r prover.Reason) string {
	switch r.Code {
	case prover.ReasonBehind, prover.ReasonRefused, prover.ReasonStarting, prover.ReasonDisconnected, prover.ReasonUnknownScope:
		return "Proxy"
	case prover.ReasonNoPush:
		if r.Subject != "" {
			return "Proxy"
		}
		return "Istiod"
	case prover.ReasonHold, prover.ReasonNoRoutes, prover.ReasonNoCensus, prover.ReasonNoIstiod, prover.ReasonTooMany:
		return "Prover"
	default:
		return "Istiod"
	}
}

func messageOf(r prover.Reason) string {
	if r.Detail == "" {
		return string(r.Code)
	}
	return string(r.Code) + ", " + r.Detail
}

// loadOf tells the hub what a pod's own statistics say. rate is arrivals a second over the last two looks; nil where there
// were none to compare.
func loadOf(p quiet.Pod, rate *float64, now time.Time) *pb.Load {
	out := &pb.Load{
		Measured: p.State != quiet.StateNotMeasured, Arrivals: p.Arrivals, Rate: rate,
		AgeMs: ageOf(p.At, now),
	}
	if p.InFlightKnown {
		out.InFlight = p.InFlight
	}
	switch p.State {
	case quiet.StateOnce:
		out.QuietScrapes = 1
	case quiet.StateTwice:
		out.QuietScrapes = 2
	default: // Something arrives, or it is not known.
	}
	if p.InFlightKnown {
		out.IdleSeconds = new(uint32(0))
		if !p.IdleSince.IsZero() {
			*out.IdleSeconds = uint32(min(max(p.At.Sub(p.IdleSince), 0), toldIdle) / time.Second)
		}
	}
	return out
}

// toldIdle is up to where it is told how long a pod has idled. More makes nobody quieter, and each second would be news.
const toldIdle = 10 * time.Second
