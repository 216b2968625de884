// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// The API server answers no write before as many are under way as may be.
func TestWorkloadsOfOnePassAreWrittenSideBySideAndNoMoreThanMayBe(t *testing.T) {
	w := newWorld(t, 3, web)
	for i := range 2*writesAtOnce - 1 {
		w.add(fmt.Sprintf("api-%d", i))
	}
	var (
		mu                  sync.Mutex
		under, most, writes int
		once                sync.Once
	)
	full := make(chan struct{})
	w.r.Client = interceptor.NewClient(w.WithWatch, interceptor.Funcs{
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			mu.Lock()
			writes, under = writes+1, under+1
			most = max(most, under)
			if under == writesAtOnce {
				once.Do(func() { close(full) })
			}
			mu.Unlock()
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				under--
			}()
			select {
			case <-full:
			case <-ctx.Done():
				return ctx.Err()
			}
			return c.SubResource(sub).Apply(ctx, o, opts...)
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := w.r.Reconcile(ctx, all); err != nil {
		t.Fatal(err)
	}
	if writes != 2*writesAtOnce || most != writesAtOnce {
		t.Errorf("%d were written, %d of them at once", writes, most)
	}
	if len(w.r.owed) > 0 || len(w.r.known) != 2*writesAtOnce {
		t.Errorf("owed %d, remembered %d", len(w.r.owed), len(w.r.known))
	}
}

func TestAWorkloadThatCannotBeWrittenIsNamedAndOwedAndHoldsUpNoOther(t *testing.T) {
	w := newWorld(t, 3, web)
	w.add("api")
	refused := errors.New("the disk is full")
	w.r.Client = interceptor.NewClient(w.WithWatch, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if name := o.(interface{ GetName() string }).GetName(); strings.HasSuffix(name, "api") {
				return refused
			}
			return c.Apply(ctx, o, opts...)
		},
	})
	_, err := w.r.Reconcile(t.Context(), all)
	if !errors.Is(err, refused) || !strings.Contains(err.Error(), "ResourceBinding shop/deployment-api") || strings.Contains(err.Error(), "deployment-web") {
		t.Errorf("got %v", err)
	}
	if len(w.r.owed) != 1 || len(w.binding().Spec.Clusters) != 3 {
		t.Errorf("owed %v, and the other one has %v", w.r.owed, w.binding().Spec.Clusters)
	}
}
