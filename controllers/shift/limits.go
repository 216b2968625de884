// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"slices"
	"strings"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/shift"
)

// defaultQuietTimeout stands in for a drain without a limit of its own, and for moves that no drain asked for.
const defaultQuietTimeout = 5 * time.Minute

// waited is how long the write under way has been waited for.
type waited struct {
	late    bool // longer than the user's patience with proxies
	settled bool // long enough for every istiod to have pushed it
}

// settleTime is how long a write may take to be pushed: istiod's debounce, 100 ms as a rule, and room for a busy machine.
// Until it has passed, a prover that has seen no push to compare with may still see one.
const settleTime = 6 * time.Second

// proofOf reads a lease. A proof of an older generation says nothing about the one that was written last. Where the
// user's patience is over and nothing but proxies is missing, the wait stands in for them.
func proofOf(p v1alpha1.ProofStatus, generation int64, written bool, wait waited, now time.Time) shift.Proof {
	if !written {
		return shift.Proof{Level: shift.Unwritten, Lease: shift.Stale}
	}
	out := shift.Proof{Level: shift.Waiting, Lease: shift.Stale, Missing: laggards(p.Missing)}
	if p.Generation == generation {
		switch p.Level {
		case v1alpha1.ProofProven:
			out.Level, out.Missing = shift.Proven, nil
		case v1alpha1.ProofTimed:
			out.Level = shift.Timed
		case v1alpha1.ProofNone:
		}
	}
	out.Overdue = wait.late && out.Level == shift.Waiting && p.Generation == generation && onlyProxies(p.Missing)
	switch {
	case p.Generation == generation && p.Lease == v1alpha1.LeaseLapsed && wait.settled:
		out.Lease = shift.Lapsed
	case p.SeenAt != nil && fresh(now.Sub(p.SeenAt.Time)):
		out.Lease = shift.Fresh
	}
	return out
}

// fresh says whether a proof of this age may be rested on. One from the future is of no known age: the clock went back.
func fresh(age time.Duration) bool { return age > -time.Second && age < leaseTime }

// proxyMark stands before the name of a proxy in a line of what is missing, as opposed to an istiod or an agent.
const proxyMark = "proxy "

func onlyProxies(lines []string) bool {
	for _, l := range laggards(lines) {
		if !strings.HasPrefix(l.Name, proxyMark) {
			return false
		}
	}
	return len(lines) > 0
}

// laggards reads lines of the form "cluster/proxy name: why".
func laggards(lines []string) []shift.Laggard {
	var out []shift.Laggard
	for _, line := range lines {
		who, _, _ := strings.Cut(line, ": ")
		cluster, name, ok := strings.Cut(who, "/")
		if !ok {
			cluster, name = "", who
		}
		out = append(out, shift.Laggard{Cluster: cluster, Name: name})
	}
	return out
}

// quietOf says how quiet the fenced pods are; the limit counts from the last step of the fence. owned says that pods may go
// without a drain of their cluster too.
func quietOf(gs *v1alpha1.GlobalService, c v1alpha1.GlobalServiceClusterStatus, w want, owned bool, now time.Time) shift.Quiet {
	if c.Quiet == v1alpha1.QuietQuiet {
		return shift.Twice
	}
	if quietLimitPassed(gs, c.Name, w, owned, now) {
		return shift.Overdue
	}
	switch c.Quiet {
	case v1alpha1.QuietOnce:
		return shift.Once
	case v1alpha1.QuietNotMeasured, "":
		return shift.NotMeasured
	case v1alpha1.QuietBusy, v1alpha1.QuietQuiet, v1alpha1.QuietLimit:
	}
	return shift.Busy
}

func inFlightOf(gs *v1alpha1.GlobalService, c v1alpha1.GlobalServiceClusterStatus, w want, owned bool, now time.Time) shift.InFlight {
	switch {
	case c.InFlight != nil && *c.InFlight == 0:
		return shift.NoWork
	case quietLimitPassed(gs, c.Name, w, owned, now):
		return shift.WorkOverdue
	case c.InFlight == nil:
		return shift.WorkNotMeasured
	}
	return shift.SomeWork
}

func quietLimitPassed(gs *v1alpha1.GlobalService, cluster string, w want, owned bool, now time.Time) bool {
	if w.drain == nil && !owned {
		return false
	}
	limit := defaultQuietTimeout
	if w.drain != nil && w.drain.Spec.QuietTimeout != nil {
		limit = w.drain.Spec.QuietTimeout.Duration
	}
	for _, s := range slices.Backward(gs.Status.Steps) {
		if s.Kind == shift.Fence.String() && s.Cluster == cluster {
			return now.Sub(s.StartedAt.Time) > limit
		}
	}
	return false
}

// waitedFor says how long the last step has been waited for. It is longer than the user's patience only when that is so for
// every drain under way: what is written serves all of them, and a drain without a limit waits for ever. The limit of one
// that has ended is nobody's any more.
func waitedFor(gs *v1alpha1.GlobalService, drains []v1alpha1.ClusterDrain, now time.Time) waited {
	if len(gs.Status.Steps) == 0 {
		return waited{settled: true}
	}
	since := now.Sub(gs.Status.Steps[len(gs.Status.Steps)-1].StartedAt.Time)
	out := waited{settled: since > settleTime}
	for _, d := range drains {
		if d.Status.Goal == "" || d.Status.FinishedAt != nil {
			continue
		}
		t := d.Spec.ProxyTimeout
		if t == nil || t.Duration <= 0 || since <= t.Duration {
			return waited{settled: out.settled}
		}
		out.late = true
	}
	return out
}
