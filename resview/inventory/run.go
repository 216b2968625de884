// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// settle is how long changes are gathered before they are told, at the least.
	settle = 100 * time.Millisecond
	// refreshInterval is how often that is asked for which no informer tells, and retryInterval how soon after a failure.
	refreshInterval = 30 * time.Second
	retryInterval   = 2 * time.Second
	// restInterval lies between two refreshes, however often istiods change.
	restInterval = time.Second
	// listenInterval is how often, and for how long, the API server is asked whether it is there. After silence of
	// maxSilence nothing is shown to the prover.
	listenInterval = 3 * time.Second
	maxSilence     = 10 * time.Second
)

// Run reads until ctx ends, and returns when all that it started has ended.
func (n *Inventory) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, s := range n.sources() {
		running.Go(func() { s.informer.RunWithContext(ctx) })
	}
	running.Go(func() { n.refreshAll(ctx) })
	running.Go(func() { n.listen(ctx) })
	n.tell(ctx)
	running.Wait()
	n.custom.running.Wait()
	return nil
}

// tell hands on changes, gathered.
func (n *Inventory) tell(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.dirty:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(n.gathering()):
		}
		select {
		case <-n.dirty: // What came meanwhile is told with the rest.
		default:
		}
		poke(n.changed)
	}
}

// gathering is how long changes are gathered: so long that a large member in turmoil costs a fifth of a core at most.
func (n *Inventory) gathering() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return max(settle, 5*n.cost)
}

// listen asks the API server again and again whether it is there. While it is not, nothing is told of what changes, and
// what was read grows old unseen.
func (n *Inventory) listen(ctx context.Context) {
	for {
		asking, cancel := context.WithTimeout(ctx, listenInterval)
		err := n.answers(asking)
		cancel()
		if err == nil {
			n.mu.Lock()
			n.answered = time.Now()
			n.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(listenInterval):
		}
	}
}

// refreshAll asks, at once and then now and again, for what no informer tells.
func (n *Inventory) refreshAll(ctx context.Context) {
	for {
		wait := refreshInterval
		if err := n.refresh(ctx); err != nil {
			if ctx.Err() != nil {
				return
			}
			n.config.Log.WarnContext(ctx, "cannot look what the member serves", "error", err)
			wait = retryInterval
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(restInterval):
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait - restInterval):
		case <-n.ask:
		}
	}
}

func (n *Inventory) refresh(ctx context.Context) error {
	if err := n.custom.refresh(ctx); err != nil {
		return err
	}
	n.refreshServed(ctx)
	if !n.pods.await(ctx) {
		return ctx.Err()
	}
	n.mu.Lock()
	last := n.settings
	n.mu.Unlock()
	x := newIndex(objects{pods: listOf[*corev1.Pod](n.pods), istioNamespace: n.config.IstioNamespace})
	now, err := n.reader.read(ctx, last, x.istiods)
	if err != nil {
		return err
	}
	n.mu.Lock()
	news := !n.settled || !reflect.DeepEqual(last, now)
	n.settings, n.settled = now, true
	n.mu.Unlock()
	if news {
		n.touch(false)
	}
	return nil
}

// refreshServed asks for all that the API server serves. It is told when it changed, and nothing waits for it.
func (n *Inventory) refreshServed(ctx context.Context) {
	if news, err := n.serves.refresh(ctx, n.custom.discovery, time.Now()); news && err != nil {
		n.config.Log.WarnContext(ctx, "not all that the member serves is known", "error", err)
	}
	n.mu.Lock()
	changed := !slices.Equal(n.served, n.serves.apis)
	n.served = n.serves.apis
	n.mu.Unlock()
	if changed {
		poke(n.dirty)
	}
}
