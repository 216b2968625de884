// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
)

// What decides anything is in status at once; what only drifts costs a write every few seconds.
func TestOnlyNumbersThatDriftWait(t *testing.T) {
	key := types.NamespacedName{Namespace: "demo", Name: "echo"}
	now := time.Unix(1_000, 0)
	status := func(change func(*ownedStatus)) ownedStatus {
		seen := metav1.NewTime(now.Add(-2 * time.Second))
		proof := v1alpha1.ProofStatus{Level: v1alpha1.ProofProven, Generation: 3, SeenAt: &seen}
		s := ownedStatus{Rules: proof, Weights: proof, Fence: proof, Clusters: []v1alpha1.GlobalServiceClusterStatus{
			{Name: "c1", Ready: 3, ArrivalsMilliPerSecond: new(int64(9000)), InFlight: new(int64(4))}, {Name: "c2", Ready: 3},
		}}
		change(&s)
		return s
	}
	seenAt := func(ago time.Duration) *metav1.Time { return new(metav1.NewTime(now.Add(-ago))) }
	stands := status(func(*ownedStatus) {})
	for name, c := range map[string]struct {
		change func(*ownedStatus)
		wrote  time.Duration
		want   bool
	}{
		"a proof renewed": {func(s *ownedStatus) { s.Weights.SeenAt = seenAt(0) }, time.Second, true},
		"arrivals, and work": {func(s *ownedStatus) {
			s.Clusters[0].ArrivalsMilliPerSecond, s.Clusters[0].InFlight = new(int64(1)), new(int64(1))
		}, time.Second, true},
		"the same after three":        {func(s *ownedStatus) { s.Clusters[0].InFlight = new(int64(1)) }, driftEvery, false},
		"after the clock went back":   {func(s *ownedStatus) { s.Clusters[0].InFlight = new(int64(1)) }, -time.Second, false},
		"the last request":            {func(s *ownedStatus) { s.Clusters[0].InFlight = new(int64(0)) }, time.Second, false},
		"a measure that began":        {func(s *ownedStatus) { s.Clusters[1].InFlight = new(int64(7)) }, time.Second, false},
		"arrivals measured no longer": {func(s *ownedStatus) { s.Clusters[0].ArrivalsMilliPerSecond = nil }, time.Second, false},
		"quiet":                       {func(s *ownedStatus) { s.Clusters[0].Quiet = v1alpha1.QuietOnce }, time.Second, false},
		"a pod":                       {func(s *ownedStatus) { s.Clusters[1].Ready = 2 }, time.Second, false},
		"a proof for a newer plan":    {func(s *ownedStatus) { s.Weights.Generation = 4 }, time.Second, false},
		"a lease that lapsed":         {func(s *ownedStatus) { s.Fence.Lease = v1alpha1.LeaseLapsed }, time.Second, false},
		"a cluster":                   {func(s *ownedStatus) { s.Clusters = s.Clusters[:1] }, time.Second, false},
	} {
		r := &Reconciler{}
		r.wrote(key, now.Add(-c.wrote))
		if got := r.mayWait(key, stands, status(c.change), now); got != c.want {
			t.Errorf("%s: may wait: %v", name, got)
		}
	}
	r := &Reconciler{}
	if r.mayWait(key, stands, stands, now) {
		t.Error("in a new life of the hub nothing was written yet")
	}
	r.wrote(key, now.Add(-time.Second))
	old := status(func(s *ownedStatus) { s.Fence.SeenAt = seenAt(renewEarly) })
	if r.mayWait(key, old, status(func(s *ownedStatus) { s.Fence.SeenAt = seenAt(0) }), now) {
		t.Error("a plan rests on proofs of less than ten seconds: one of five is renewed at once")
	}
}
