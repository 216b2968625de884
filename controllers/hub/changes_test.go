// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/resview/stream"
)

func TestWhatIsHeardOfAMemberWakesWhomItConcernsUntilTheControllerStops(t *testing.T) {
	link := fleettest.NewLink(t)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	ctx, stop := context.WithCancel(t.Context())
	asked := make(chan struct{}, 64)
	source := &Changes{Members: link.Server, Concerns: func(_ context.Context, changes []stream.Change) []reconcile.Request {
		var out []reconcile.Request
		for _, c := range changes {
			out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Name: "of-" + c.Cluster}})
		}
		asked <- struct{}{}
		return out
	}}
	if err := source.Start(ctx, queue); err != nil {
		t.Fatal(err)
	}
	if err := link.Server.Admit("c1", stream.Settings{}); err != nil {
		t.Fatal(err)
	}
	link.Server.Forget("c1")
	if r, _ := queue.Get(); r.Name != "of-c1" {
		t.Errorf("woken: %s", r)
	}
	<-asked
	stop()
}
