// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import "sync"

// Subscription tells its holder which members and services changed. Changes are coalesced: between two calls of Take a
// Service that changed a hundred times is one change, so a slow reader costs nobody anything.
type Subscription struct {
	mu      sync.Mutex
	pending map[Change]struct{}
	wake    chan struct{}
	cancel  func()
}

// C receives a value when there is something to Take. It is never closed.
func (s *Subscription) C() <-chan struct{} { return s.wake }

// Take returns what changed since the last call, in no order. The snapshots that show the changes can be read already.
func (s *Subscription) Take() []Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Change, 0, len(s.pending))
	for c := range s.pending {
		out = append(out, c)
	}
	clear(s.pending)
	return out
}

// Close ends the subscription. It may be called more than once.
func (s *Subscription) Close() { s.cancel() }

func (s *Subscription) add(changes map[Change]struct{}) {
	s.mu.Lock()
	for c := range changes {
		s.pending[c] = struct{}{}
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // A wake-up is waiting already.
	}
}

// subscribers hands changes to all subscriptions.
type subscribers struct {
	mu  sync.Mutex
	all map[*Subscription]struct{}
}

func (s *subscribers) subscribe() *Subscription {
	sub := &Subscription{pending: map[Change]struct{}{}, wake: make(chan struct{}, 1)}
	sub.cancel = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.all, sub)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*Subscription]struct{}{}
	}
	s.all[sub] = struct{}{}
	return sub
}

func (s *subscribers) notify(changes map[Change]struct{}) {
	if len(changes) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for sub := range s.all {
		sub.add(changes)
	}
}
