// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Queue is that of a controller.
type Queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Pass returns the handler of a controller that looks at everything at once: whatever happens asks for the one request
// there is. It waits for gathering, so that what comes at once makes one pass. Of updates only those count that matter says
// may change what a pass comes to: most say only that something was seen again.
func Pass(all reconcile.Request, gathering time.Duration, matters func(before, now client.Object) bool) handler.Funcs {
	ask := func(q Queue) { q.AddAfter(all, gathering) }
	return handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, q Queue) { ask(q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q Queue) {
			if matters(e.ObjectOld, e.ObjectNew) {
				ask(q)
			}
		},
		DeleteFunc:  func(_ context.Context, _ event.DeleteEvent, q Queue) { ask(q) },
		GenericFunc: func(_ context.Context, _ event.GenericEvent, q Queue) { ask(q) },
	}
}
