// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"crypto/sha256"
	"runtime"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/weir-io/weir/resview/pb"
)

// checkServed accepts a bounded list of GROUP/VERSION/KIND and VERSION/KIND.
func checkServed(s *pb.ServedAPIs) *refusal {
	return each("served apis", s.GetApis(), maxServed, func(api string) *refusal {
		if why := text("served api", api, maxServedName); why != nil {
			return why
		}
		parts := strings.Split(api, "/")
		if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
			return invalid("served api: %q is neither GROUP/VERSION/KIND nor VERSION/KIND", clip(api))
		}
		return nil
	})
}

// servedList is what a member serves.
type servedList struct{ apis []string }

// servedLists keeps one copy of what several members say alike: most of a fleet serves the same, and a list is long. It
// holds nothing up: a list goes with the last member that has it. All methods may be called from several goroutines.
type servedLists struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]weak.Pointer[servedList]
}

// share returns the list with these APIs, sorted and each once.
func (l *servedLists) share(apis []string) *servedList {
	apis = slices.Compact(slices.Sorted(slices.Values(apis)))
	key := sha256.Sum256([]byte(strings.Join(apis, "\n")))
	l.mu.Lock()
	defer l.mu.Unlock()
	if have := l.known[key].Value(); have != nil {
		return have
	}
	out := &servedList{apis: apis}
	if l.known == nil {
		l.known = map[[sha256.Size]byte]weak.Pointer[servedList]{}
	}
	l.known[key] = weak.Make(out)
	runtime.AddCleanup(out, l.forget, key)
	return out
}

// forget drops a list that nobody has any more. One that was told again in the meantime stays.
func (l *servedLists) forget(key [sha256.Size]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[key].Value() == nil {
		delete(l.known, key)
	}
}
