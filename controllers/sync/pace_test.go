// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
)

func TestACopyIsLookedAtAgainTheSoonerTheMoreIsToCome(t *testing.T) {
	synced := v1alpha1.MemberCopy{Sync: v1alpha1.SyncSynced, Sight: v1alpha1.SightSeen}
	for name, c := range map[string]struct {
		row    v1alpha1.MemberReplicas
		moving bool
		want   time.Duration
	}{
		"all is well":         {v1alpha1.MemberReplicas{Applied: 3, Ready: 3, MemberCopy: synced}, false, 30 * time.Second},
		"all is well here":    {v1alpha1.MemberReplicas{Applied: 3, Ready: 3, MemberCopy: synced}, true, 30 * time.Second},
		"not ready":           {v1alpha1.MemberReplicas{Applied: 3, Ready: 2, MemberCopy: synced}, false, 5 * time.Second},
		"not ready in a move": {v1alpha1.MemberReplicas{Applied: 3, Ready: 2, MemberCopy: synced}, true, 2 * time.Second},
		"a rollout":           {v1alpha1.MemberReplicas{Applied: 3, Ready: 3, Rollout: v1alpha1.RolloutProgressing, MemberCopy: synced}, false, 5 * time.Second},
		"being written":       {v1alpha1.MemberReplicas{MemberCopy: v1alpha1.MemberCopy{Sync: v1alpha1.SyncPending, Sight: v1alpha1.SightSeen}}, false, 2 * time.Second},
		"refused":             {v1alpha1.MemberReplicas{MemberCopy: v1alpha1.MemberCopy{Sync: v1alpha1.SyncFailed, Sight: v1alpha1.SightSeen}}, true, 10 * time.Second},
		"not seen":            {v1alpha1.MemberReplicas{Applied: 3, Ready: 3, MemberCopy: v1alpha1.MemberCopy{Sync: v1alpha1.SyncPending, Sight: v1alpha1.SightBlind}}, true, 10 * time.Second},
		"an autoscaler's":     {v1alpha1.MemberReplicas{Applied: 7, MemberCopy: v1alpha1.MemberCopy{Sync: v1alpha1.SyncPending, Reason: v1alpha1.ReasonHPA}}, false, 30 * time.Second},
		"one in a move":       {v1alpha1.MemberReplicas{Applied: 7, MemberCopy: v1alpha1.MemberCopy{Sync: v1alpha1.SyncPending, Reason: v1alpha1.ReasonHPA}}, true, 5 * time.Second},
		"lowered limits": {v1alpha1.MemberReplicas{
			Applied: 7, Autoscaler: &v1alpha1.MemberAutoscaler{State: v1alpha1.AutoscalerHeld}, MemberCopy: v1alpha1.MemberCopy{Sync: v1alpha1.SyncPending, Reason: v1alpha1.ReasonHPA},
		}, true, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pace(&c.row, 3, c.moving); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestWritesAreCountedAndWhatStandsIsNone(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.d.Metrics = m
	w.look()
	w.look()
	w.members["c1"].Fail(func(r fleettest.Request) error {
		if r.Method == http.MethodPatch {
			return apierrors.NewForbidden(deployments.resource.GroupResource(), "web", nil)
		}
		return nil
	})
	w.plan([]int32{4, 3}, []int32{4, 3})
	w.look()
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	for outcome, want := range map[string]float64{"done": 3, "refused": 1, "conflict": 0} {
		if got := testutil.ToFloat64(m.writes.WithLabelValues("Deployment", "write", outcome)); got != want {
			t.Errorf("%s: %v, want %v", outcome, got, want)
		}
	}
}
