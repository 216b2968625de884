// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"github.com/weir-io/weir/mesh/prover"
	"github.com/weir-io/weir/mesh/prover/quiet"
	"github.com/weir-io/weir/resview/pb"
)

// podKey is namespace/name.
type podKey string

// rates remembers each pod's last count, so that arrivals become a rate. It is for one goroutine.
type rates struct {
	last map[podKey]sample
}

type sample struct {
	arrivals uint64
	at       time.Time
	rate     *float64 // nil until two scrapes can be compared
}

// loads returns the load of every pod that is measured, and forgets those that no longer are.
func (r *rates) loads(verdicts map[prover.Key]prover.Verdict, now time.Time) map[podKey]*pb.Load {
	next := map[podKey]sample{}
	out := map[podKey]*pb.Load{}
	for _, v := range verdicts {
		for _, p := range v.Quiet {
			key := podKey(p.Namespace + "/" + p.Name)
			s := step(r.last[key], p)
			next[key] = s
			out[key] = loadOf(p, s.rate, now)
		}
	}
	r.last = next
	return out
}

// step takes a newer scrape into account; the same scrape again changes nothing.
func step(last sample, p quiet.Pod) sample {
	if !p.At.After(last.at) {
		return last
	}
	s := sample{arrivals: p.Arrivals, at: p.At}
	if elapsed := p.At.Sub(last.at).Seconds(); !last.at.IsZero() && elapsed > 0 && p.Arrivals >= last.arrivals {
		s.rate = new(float64(p.Arrivals-last.arrivals) / elapsed)
	}
	return s
}
