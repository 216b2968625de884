// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weir-io/weir/dns/zone"
)

// tick is the resolution of the ledger: coarse, so that readers on many cores rarely write the same word.
const tick = 100 * time.Millisecond

// slot is the record of one target. It outlives tables, so that an answer of an older one still counts.
type slot struct {
	last  atomic.Int64 // ticks since 1970, rounded up; 0: never
	until atomic.Int64
	left  int64 // when the last table that had it was replaced; only for next
}

// note records an answer. Times only grow.
func (s *slot) note(now time.Time, ttl zone.TTL) {
	raise(&s.last, ticks(now))
	raise(&s.until, ticks(now.Add(ttl.Duration())))
}

// ticks rounds up: who waits for a record must not wait too short.
func ticks(t time.Time) int64 {
	return (t.UnixNano() + int64(tick) - 1) / int64(tick)
}

func raise(a *atomic.Int64, to int64) {
	for {
		old := a.Load()
		if old >= to || a.CompareAndSwap(old, to) {
			return
		}
	}
}

// ledger holds the slots of one table, in the order of its targets, and those of earlier tables that still count.
type ledger struct {
	byPlace []*slot
	all     map[zone.Target]*slot
}

// next makes the ledger of the table that comes after. What has run out and is not in the table is forgotten.
func (l *ledger) next(table *zone.Table, now time.Time) *ledger {
	targets := table.Targets()
	out := &ledger{byPlace: make([]*slot, len(targets)), all: make(map[zone.Target]*slot, len(targets))}
	for i, t := range targets {
		s := l.all[t]
		if s == nil {
			s = new(slot)
		}
		out.byPlace[i], out.all[t] = s, s
	}
	// A question under way may still be answered from the table before, and its record must be found then: what is no
	// longer listed is kept for the longest TTL, answered before or not.
	forget := ticks(now.Add(-zone.MaxTTL.Duration()))
	for _, s := range l.byPlace {
		s.left = ticks(now)
	}
	for t, s := range l.all {
		if _, listed := out.all[t]; !listed && max(s.until.Load(), s.left) >= forget {
			out.all[t] = s
		}
	}
	return out
}

// given lists what was answered and may still be cached.
func (l *ledger) given(now time.Time) []zone.Given {
	out := []zone.Given{}
	for t, s := range l.all {
		if until := s.until.Load(); until >= ticks(now) {
			out = append(out, zone.Given{Target: t, Last: timeOf(s.last.Load()), CachedUntil: timeOf(until)})
		}
	}
	slices.SortFunc(out, func(a, b zone.Given) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Cluster, b.Cluster))
	})
	return out
}

func timeOf(ticks int64) time.Time { return time.Unix(0, ticks*int64(tick)).UTC() }
