// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"errors"
	"net/http"
	"testing"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
)

// again is a hub that begins anew: nothing that it remembered is left.
func (w *world) again() { w.d = NewDeployments(Config(w.d.copier), nil) }

func TestAHubThatEndsBetweenTwoWritesGoesOnWhereItWas(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	down := true
	w.members["c1"].Fail(func(r fleettest.Request) error {
		if down && r.Method == http.MethodPatch {
			return errors.New("the member is going down")
		}
		return nil
	})
	w.look()
	if w.work("c1", "Deployment") == nil || w.deployment("c1") != nil || w.deployment("c2") == nil {
		t.Fatal("c1 is not on record, or stands; or c2 was held up")
	}
	down = false
	w.again()
	w.look()
	if d := w.deployment("c1"); d == nil || *d.Spec.Replicas != 3 {
		t.Errorf("%+v", d)
	}
	if row := w.row("c1"); row.Sync != v1alpha1.SyncSynced || row.Applied != 3 {
		t.Errorf("%+v", row)
	}
	w.again()
	w.quiet()
	w.look()
	if writes := w.writes(); len(writes) > 0 {
		t.Errorf("a hub that begins anew wrote %v", writes)
	}
}

func TestAHubThatEndsAfterTheWriteAndBeforeItIsToldOfDoesNotWriteAgain(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	for _, cluster := range []string{"c1", "c2"} {
		work := w.work(cluster, "Deployment")
		work.Status = v1alpha1.WorkStatus{}
		if err := w.Status().Update(t.Context(), work); err != nil {
			t.Fatal(err)
		}
	}
	w.again()
	w.quiet()
	w.look()
	if writes := w.writes(); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
	if record := w.work("c1", "Deployment"); len(record.Status.Manifests) != 1 || record.Status.Manifests[0].Sync != v1alpha1.SyncSynced {
		t.Errorf("%+v", record.Status)
	}
}
