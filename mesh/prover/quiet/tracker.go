// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package quiet

import (
	"cmp"
	"slices"
	"time"
)

// The reasons for StateNotMeasured.
const (
	ReasonNoSidecar   = "the pod has no sidecar"
	ReasonNoStatistic = "the sidecar exports no inbound statistics; include them in the mesh's proxyStatsMatcher"
	ReasonNoAnswer    = "the sidecar's statistics could not be read"
	ReasonNotYet      = "not scraped yet"
)

// ID names a pod, and tells it from one of the same name before it.
type ID struct {
	Namespace, Name, UID string
}

// Tracker keeps what the scrapes of each pod tell together. Its zero value is
// empty and ready for use. It is not safe for use from several goroutines.
type Tracker struct {
	pods map[ID]*track
}

type track struct {
	pod    Pod
	last   map[string]uint64
	uptime uint64
	seen   time.Time // the scrape of last and uptime
	silent int       // scrapes in a row that showed no arrival
}

// Keep forgets all pods but those of ids, and begins with those that are new.
func (t *Tracker) Keep(ids []ID) {
	kept := make(map[ID]*track, len(ids))
	for _, id := range ids {
		old, ok := t.pods[id]
		if !ok {
			old = &track{pod: Pod{
				Namespace: id.Namespace, Name: id.Name,
				State: StateNotMeasured, Reason: ReasonNotYet,
			}}
		}
		kept[id] = old
	}
	t.pods = kept
}

// Missed notes that a pod could not be scraped, and why. What was seen before
// no longer counts as seen in a row.
func (t *Tracker) Missed(id ID, now time.Time, reason string) {
	p, ok := t.pods[id]
	if !ok {
		return
	}
	p.silent, p.pod.IdleSince = 0, time.Time{}
	p.pod.State, p.pod.Reason, p.pod.At = StateNotMeasured, reason, now
	p.pod.InFlight, p.pod.InFlightKnown = 0, false
}

// Seen notes one scrape.
func (t *Tracker) Seen(id ID, now time.Time, s Sample) {
	p, ok := t.pods[id]
	if !ok {
		return
	}
	if len(s.Arrived) == 0 {
		t.Missed(id, now, ReasonNoStatistic)
		return
	}
	arrived, comparable := p.delta(s.Arrived)
	comparable = comparable && p.sameProcess(now, s.Uptime)
	p.last, p.uptime, p.seen = s.Arrived, s.Uptime, now
	p.pod.At, p.pod.Reason = now, ""
	p.pod.InFlight, p.pod.InFlightKnown = s.InFlight, s.InFlightKnown
	p.pod.Arrivals += arrived
	switch {
	case arrived > 0:
		p.pod.LastArrival = now
		p.silent = 0
	case comparable:
		p.silent++
	default:
		p.silent = 0
	}
	p.pod.State = stateOf(p.silent)
	switch idle := p.silent > 0 && s.InFlightKnown && s.InFlight == 0; {
	case !idle:
		p.pod.IdleSince = time.Time{}
	case p.pod.IdleSince.IsZero():
		p.pod.IdleSince = now
	}
}

func stateOf(silent int) State {
	switch silent {
	case 0:
		return StateBusy
	case 1:
		return StateOnce
	}
	return StateTwice
}

// sameProcess tells whether the proxy has run on since the last scrape. One that
// began anew may have counted, and forgotten, what came in between, and its
// counters can show the same as before. Its uptime, in whole seconds, must have
// grown with the clock; one of less than two seconds can not tell.
func (p *track) sameProcess(now time.Time, uptime uint64) bool {
	if p.uptime == 0 && uptime == 0 {
		return true // Not told; a counter that falls still shows it.
	}
	elapsed := uint64(max(0, now.Sub(p.seen)) / time.Second)
	return p.uptime >= 2 && uptime+1 >= p.uptime+elapsed
}

// delta returns what arrived since the last scrape, and whether that could be
// told. Each counter tells of the same arrivals in its own way, so the largest
// is taken. One that fell was begun anew by a proxy that restarted: what it
// shows has arrived since then, and what it showed before can not be compared.
func (p *track) delta(now map[string]uint64) (arrived uint64, comparable bool) {
	comparable = true
	known := false
	for name, value := range now {
		before, had := p.last[name]
		switch {
		case !had:
			// A counter that appears has counted something, unless this is
			// the first scrape.
			if p.last != nil {
				arrived = max(arrived, value)
			}
		case value < before:
			arrived = max(arrived, value)
			comparable = false
		default:
			arrived = max(arrived, value-before)
			known = true
		}
	}
	return arrived, comparable && known
}

// Pods returns what is known of the pods that choose accepts, by namespace and
// name.
func (t *Tracker) Pods(choose func(ID) bool) []Pod {
	var out []Pod
	for id, p := range t.pods {
		if choose(id) {
			out = append(out, p.pod)
		}
	}
	slices.SortFunc(out, func(a, b Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}
