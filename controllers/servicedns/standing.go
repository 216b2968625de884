// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servicedns

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/dns/zone"
	"github.com/weir-io/weir/dns/zone/names"
)

// grace is how long after its time an answer may still be in use: on its way to a cache, or in one that rounds up.
const grace = 3 * time.Second

// standing is what the members of one service are judged by.
type standing struct {
	gs     *v1alpha1.GlobalService
	names  described
	plan   *plan // with every member that shall be answered, on record or not
	serial uint32
	report zone.Report
	now    time.Time
	held   time.Time // caches may hold answers of an older kind until then
	again  time.Time // when to look again without an event; zero: never
}

// status is what stands in the object.
func (s *standing) status() *v1alpha1.NamesStatus {
	old := s.gs.Status.Names
	out := &v1alpha1.NamesStatus{Hosts: trimmed(s.names.hosts), TTLSeconds: int32(s.names.ttl)} //nolint:gosec // an hour at most.
	if s.held = s.heldUntil(old, out); !s.held.IsZero() {
		t := metav1.NewMicroTime(s.held)
		out.HeldUntil = &t
		s.lookAgain(s.held)
	}
	for _, c := range s.gs.Status.Clusters {
		out.Clusters = append(out.Clusters, s.row(c.Name))
	}
	slices.SortFunc(out.Clusters, func(a, b v1alpha1.ClusterNames) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// heldUntil is when the answers of before are forgotten that are of a name, or of a longer time, which the service has no
// more; zero when they are.
func (s *standing) heldUntil(old, now *v1alpha1.NamesStatus) time.Time {
	var held time.Time
	if old == nil {
		return held
	}
	if old.HeldUntil != nil {
		held = old.HeldUntil.Time
	}
	lost := slices.ContainsFunc(old.Hosts, func(h string) bool { return !slices.Contains(now.Hosts, h) })
	if lost || old.TTLSeconds > now.TTLSeconds {
		held = later(held, s.now.Add(time.Duration(old.TTLSeconds)*time.Second+grace).Truncate(time.Microsecond))
	}
	if !held.After(s.now) {
		return time.Time{}
	}
	return held
}

// row says how one member stands. One that is answered, or shall be once this is on record, is Named. Of any other it is
// kept since when: a plan that withdraws it waits for its end, and one that does not has nothing to withdraw after it.
func (s *standing) row(cluster string) v1alpha1.ClusterNames {
	out := v1alpha1.ClusterNames{Name: cluster, Standing: v1alpha1.StandingUnused}
	if len(s.names.hosts) == 0 {
		return out
	}
	if s.plan.answers[zone.Target{Name: s.names.hosts[0], Cluster: cluster}] {
		out.Standing = v1alpha1.StandingNamed
		return out
	}
	if old := rowOf(s.gs, cluster); old != nil && old.OutSerial > 0 && old.OutSince != nil {
		out = *old
	} else {
		t := metav1.NewMicroTime(s.now)
		out.Standing, out.OutSerial, out.OutSince = v1alpha1.StandingNamed, int64(s.serial), &t
	}
	verdict, until := names.Expired, time.Time{} // and it stays so while it is not answered, whoever restarts
	if !forgotten(out) {
		verdict, until = s.judge(cluster, out)
	}
	out.Standing, out.CachedUntil = v1alpha1.StandingUnused, nil
	withdrawn := planOf(s.gs, cluster).DNS == v1alpha1.DNSWithdrawn
	switch verdict {
	case names.Cached:
		s.lookAgain(until)
		t := metav1.NewTime(until.Add(time.Second - 1).Truncate(time.Second))
		out.Standing, out.CachedUntil = v1alpha1.StandingNamed, &t
		if withdrawn {
			out.Standing = v1alpha1.StandingCached
		}
	case names.Expired:
		if withdrawn {
			out.Standing = v1alpha1.StandingExpired
		}
	case names.Named:
		out.Standing = v1alpha1.StandingNamed
	case names.Unused:
	}
	return out
}

// forgotten says whether caches had forgotten a member that is not answered.
func forgotten(row v1alpha1.ClusterNames) bool {
	return row.Standing == v1alpha1.StandingExpired || row.Standing == v1alpha1.StandingUnused
}

// judge asks what the server has on record of a member that is not answered. The server forgets an answer at the end of its
// time, and what is in the object stands until the grace is over.
func (s *standing) judge(cluster string, row v1alpha1.ClusterNames) (names.Standing, time.Time) {
	verdict, until := names.StandingOf(names.Query{
		Names: s.names.hosts, Cluster: cluster, OutSince: uint32(row.OutSerial), OutAt: row.OutSince.Time, //nolint:gosec // it was a serial.
		TTL: s.names.ttl, Grace: grace, Servers: []*zone.Report{&s.report}, Now: s.now,
	})
	ends := s.held
	if row.CachedUntil != nil {
		ends = later(ends, row.CachedUntil.Time)
	}
	if verdict != names.Named && ends.After(s.now) {
		return names.Cached, later(until, ends)
	}
	return verdict, until
}

func (s *standing) lookAgain(at time.Time) {
	if s.again.IsZero() || at.Before(s.again) {
		s.again = at
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
