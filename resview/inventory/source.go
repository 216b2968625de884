// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"k8s.io/client-go/tools/cache"
)

// source is one informer, and why it does not list if it does not.
type source struct {
	name     string
	informer cache.SharedIndexInformer

	mu      sync.Mutex
	problem string
}

// newSource prepares an informer that has not been started. Changed is called with each object that comes, changes or
// goes, from one goroutine.
func newSource(name string, informer cache.SharedIndexInformer, log *slog.Logger, changed func(object any)) (*source, error) {
	s := &source{name: name, informer: informer}
	if err := informer.SetTransform(trim); err != nil {
		return nil, fmt.Errorf("watch %s: %w", name, err)
	}
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		if s.fail(err) {
			log.WarnContext(ctx, "cannot list or watch", "resource", name, "error", err)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", name, err)
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(_, now any) { changed(now) },
		DeleteFunc: func(gone any) {
			if unknown, ok := gone.(cache.DeletedFinalStateUnknown); ok {
				gone = unknown.Obj
			}
			changed(gone)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", name, err)
	}
	return s, nil
}

// fail notes why the last attempt failed, and says whether that is news.
func (s *source) fail(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.problem
	s.problem = err.Error()
	return s.problem != was
}

// await returns true once the kind has been listed, false when ctx ends before.
func (s *source) await(ctx context.Context) bool {
	select {
	case <-s.informer.HasSyncedChecker().Done():
		return true
	case <-ctx.Done():
		return false
	}
}

// appendWaiting adds the source's name, with the reason where it is known, if it has not been listed.
func (s *source) appendWaiting(to []string) []string {
	if s.informer.HasSynced() {
		return to
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.problem == "" {
		return append(to, s.name)
	}
	return append(to, s.name+" ("+s.problem+")")
}

// listOf returns what a source holds. The objects are shared and must not be changed.
func listOf[T any](s *source) []T {
	all := s.informer.GetStore().List()
	out := make([]T, 0, len(all))
	for _, o := range all {
		if t, ok := o.(T); ok {
			out = append(out, t)
		}
	}
	return out
}
