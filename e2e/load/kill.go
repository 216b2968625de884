// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load

// Kill is one sudden end of pods: of a workload, of a gateway, or of a cluster.
type Kill struct {
	Name string
	// From is when the first signal was sent, or the first link cut; Gone is
	// when the last of the killed processes was seen to be gone.
	From, Gone int64
	// Upstreams are the names of what was killed, as ledgers and access logs
	// name it: pods, and the addresses through which they were reached. Across
	// networks that is the gateway of their cluster.
	Upstreams map[string]bool
}

// Sight is the evidence that a request was given to an upstream.
type Sight struct {
	ID       string
	Upstream string
	Time     int64
}

// Sights gives the arrivals of a ledger as evidence: the upstream is the pod.
func (l Ledger) Sights() []Sight {
	var sights []Sight
	for _, e := range l.Entries {
		if e.begins() && e.ID != "" {
			sights = append(sights, Sight{ID: e.ID, Upstream: l.Pod, Time: e.Time})
		}
	}
	return sights
}

// firstUpstreams keeps of all evidence about a request the earliest. The
// ledger of a pod and the access log of a proxy may both tell of the same
// attempt; that does not matter, since a kill names a pod by all its names.
func firstUpstreams(sights []Sight) map[string]Sight {
	first := make(map[string]Sight, len(sights))
	for _, s := range sights {
		if known, ok := first[s.ID]; !ok || s.Time < known.Time {
			first[s.ID] = s
		}
	}
	return first
}

// inFlight reports whether a failed request was one that nothing could have
// saved: it was under way when the kill began or fell on a pod before the last
// killed process was gone, and the first upstream it was given to was killed.
// Without evidence the answer is no: the request is lost.
func (k Kill) inFlight(r Record, first map[string]Sight) bool {
	if r.OK() || r.Sent > k.Gone {
		return false
	}
	if r.End != 0 && r.End < k.From {
		return false
	}
	s, ok := first[r.ID]
	return ok && k.Upstreams[s.Upstream]
}
