// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-io/weir/resview/stream"
)

// Changes is a source of a controller: it queues what members' facts and beats change.
type Changes struct {
	// Members is whose changes are told.
	Members *stream.Server
	// Concerns says which objects changes concern. It is called from one goroutine.
	Concerns func(context.Context, []stream.Change) []reconcile.Request
}

// Start watches until the context ends. It does not wait for that.
func (c *Changes) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	sub := c.Members.Subscribe()
	go func() {
		defer sub.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case <-sub.C():
			}
			for _, request := range c.Concerns(ctx, sub.Take()) {
				queue.Add(request)
			}
		}
	}()
	return nil
}
