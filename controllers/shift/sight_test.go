// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/shift"
)

func TestAClockThatIsPutForwardEndsNoWait(t *testing.T) {
	d := drainOf("c2", v1alpha1.GoalDrain, time.Minute)
	d.Spec.ProxyTimeout = &metav1.Duration{Duration: time.Minute}
	cases := map[string]struct {
		wall, up      time.Duration // since the step was first seen
		late, settled bool
	}{
		"a second later":                      {time.Second, time.Second, false, false},
		"put forward by an hour":              {time.Hour, time.Second, false, false},
		"put forward, and settled since":      {time.Hour, 7 * time.Second, false, true},
		"put forward, and the limit passed":   {2 * time.Hour, 2 * time.Minute, true, true},
		"nobody touched the clock":            {2 * time.Minute, 2 * time.Minute, true, true},
		"put back: waits for longer, at most": {-time.Hour, 2 * time.Minute, false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var s sights
			gs := three()
			steps := []v1alpha1.StepRecord{{Kind: shift.Fence.String(), Cluster: "c2", StartedAt: metav1.NewMicroTime(now)}}
			s.at(serviceKey, steps, now, time.Hour)
			gs.Status.Steps = s.at(serviceKey, steps, now.Add(c.wall), time.Hour+c.up)
			if got := waitedFor(gs, []v1alpha1.ClusterDrain{d}, now.Add(c.wall)); got.late != c.late || got.settled != c.settled {
				t.Errorf("got %+v", got)
			}
			d.Spec.QuietTimeout = d.Spec.ProxyTimeout
			if got := quietLimitPassed(gs, "c2", want{drain: &d}, false, now.Add(c.wall)); got != c.late {
				t.Errorf("the limit of quiet has passed: %t", got)
			}
			if !steps[0].StartedAt.Time.Equal(now) {
				t.Error("what is on record was changed")
			}
		})
	}
}

func TestAWaitBeginsAnewWithTheHub(t *testing.T) {
	w := newWorld(t, three())
	steps := []v1alpha1.StepRecord{{Kind: shift.Fence.String(), Cluster: "c2", StartedAt: metav1.NewMicroTime(now.Add(-time.Hour))}}
	if got := w.r.sights.counted(serviceKey, steps, now); !got[0].StartedAt.Time.Equal(now) {
		t.Errorf("counts from %s", got[0].StartedAt)
	}
	if got := w.r.sights.counted(serviceKey, steps, now.Add(time.Minute)); !got[0].StartedAt.Time.Equal(now) {
		t.Errorf("a minute later it counts from %s", got[0].StartedAt)
	}
	w.r.sights.forget(serviceKey)
	if len(w.r.sights.first) > 0 {
		t.Error("steps of services that are gone are kept")
	}
}
