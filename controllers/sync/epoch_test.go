// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/member"
)

func (w *world) workOf(cluster string) *v1alpha1.Work {
	w.Helper()
	var out v1alpha1.Work
	key := types.NamespacedName{Namespace: v1alpha1.MemberNamespace(cluster), Name: v1alpha1.WorkName("Deployment", key.Namespace, key.Name)}
	if err := w.Get(w.Context(), key, &out); err != nil {
		w.Fatal(err)
	}
	return &out
}

func TestARecordBearsItsLeaderAndForHowLongItMayTakeAway(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	s := w.workOf("c1").Spec
	if s.Epoch == nil || *s.Epoch != 1 || s.NotAfter == nil || !s.NotAfter.Time.Equal(w.now.Add(reduceWithin)) || *s.BaseGeneration != 1 {
		t.Errorf("it says %+v", s)
	}
}

func TestNothingIsTakenAwayByARecordOfAnOlderLeaderOrOfLongAgo(t *testing.T) {
	for name, age := range map[string]func(*world){
		"an older leader": func(w *world) {
			w.d.Door = member.NewDoor(w, "weir-system", member.NewTerm("hub", &fleettest.Epochs{})) // the hub was started anew.
		},
		"long ago": func(w *world) { w.now = w.now.Add(reduceWithin) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bound(t, web, 3, 2)...)
			w.look()
			// The record says already that c1 shall hold less, and was written by whom, or when, that counts no more.
			w.plan([]int32{1, 2}, []int32{1, 2})
			w.members["c1"].Fail(func(r fleettest.Request) error {
				if r.Method == http.MethodPatch {
					return errors.New("down")
				}
				return nil
			})
			w.look()
			before := w.workOf("c1")
			age(w)
			w.members["c1"].Fail(nil)
			if reduces(before, 1, w.now) && name == "long ago" {
				t.Fatal("it is not old")
			}
			w.look()
			after := w.workOf("c1")
			if after.Generation == before.Generation && after.ResourceVersion == before.ResourceVersion {
				t.Errorf("c1 was reduced by the record of before: %+v", before.Spec)
			}
			if *after.Spec.Epoch < *before.Spec.Epoch || !w.now.Before(after.Spec.NotAfter.Time) {
				t.Errorf("the record says %+v", after.Spec)
			}
			if row := rowOf(w.look(), "c1"); row.Applied != 1 {
				t.Errorf("c1 holds %+v", row)
			}
		})
	}
}

func TestGrowthNeedsNoFreshRecord(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	before := w.workOf("c1")
	w.d.Door = member.NewDoor(w, "weir-system", member.NewTerm("hub", &fleettest.Epochs{}))
	w.look()
	if after := w.workOf("c1"); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("a new leader wrote the record anew, and nothing changed: %+v", after.Spec)
	}
}

func TestAMemberOfAnotherHubGetsNothingAndSaysSo(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	w.d.Door = member.NewDoor(w, "weir-system", member.NewTerm("hub-2", &fleettest.Epochs{}))
	w.plan([]int32{5, 2}, []int32{5, 2})
	w.members["c1"].Writes()
	row := rowOf(w.look(), "c1")
	if row.Reason != v1alpha1.ReasonOtherHub || row.Sync != v1alpha1.SyncFailed || !strings.Contains(row.Message, "--take-over") {
		t.Errorf("got %+v", row)
	}
	if writes := w.members["c1"].Writes(); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
}
