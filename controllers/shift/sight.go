// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
)

// sights are when steps were first seen in this life of the hub, by a clock that does not jump. The times in objects are
// those of the wall: were it put forward by an hour, every limit would have passed at once, and what is waited for be gone
// past without its proof. A wait so counts as the shorter of the two, and begins anew with the hub.
type sights struct {
	mu    sync.Mutex
	began time.Time
	first map[types.NamespacedName]map[sighted]time.Duration // since began
}

// sighted tells steps apart.
type sighted struct {
	kind, cluster     string
	generation, fence int64
	at                int64 // microseconds
}

// counted returns the steps of a service, none of which began earlier than it was seen. now holds a reading of the clock
// that does not jump, as time.Now gives it.
func (s *sights) counted(key types.NamespacedName, steps []v1alpha1.StepRecord, now time.Time) []v1alpha1.StepRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began.IsZero() {
		s.began = now
	}
	return s.at(key, steps, now, now.Sub(s.began))
}

// at is counted, with the time since the beginning. The lock is held.
func (s *sights) at(key types.NamespacedName, steps []v1alpha1.StepRecord, now time.Time, up time.Duration) []v1alpha1.StepRecord {
	known := map[sighted]time.Duration{}
	out := make([]v1alpha1.StepRecord, len(steps))
	for i, step := range steps {
		id := sighted{step.Kind, step.Cluster, step.Generation, step.FenceGeneration, step.StartedAt.UnixMicro()}
		seen, ok := s.first[key][id]
		if !ok {
			seen = up
		}
		known[id], out[i] = seen, step
		if since := now.Add(seen - up); since.After(step.StartedAt.Time) {
			out[i].StartedAt = metav1.NewMicroTime(since)
		}
	}
	if s.first == nil {
		s.first = map[types.NamespacedName]map[sighted]time.Duration{}
	}
	s.first[key] = known
	return out
}

func (s *sights) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.first, key)
}
