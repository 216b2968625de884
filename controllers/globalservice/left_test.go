// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/pb"
)

// plain is what an agent tells of a Service that was annotated no longer while its pods bore the fence.
func plain(f *pb.ServiceFacts) { f.Annotations = map[string]string{} }

// patched names the pods that were given a label patch.
func (w *world) patched() []string {
	var out []string
	for _, s := range w.writes() {
		if strings.Contains(s, "/pods/") {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func drainOfC2(goal v1alpha1.GoalKind) *v1alpha1.ClusterDrain {
	d := &v1alpha1.ClusterDrain{ObjectMeta: metav1.ObjectMeta{Name: "c2"}, Spec: v1alpha1.ClusterDrainSpec{ClusterName: "c2"}}
	d.Status.Goal = goal
	return d
}

// unannotated is a fleet whose c2 is drained and fenced, and in which the Service is then plain in c2, or everywhere.
func unannotated(t *testing.T, everywhere bool) *world {
	t.Helper()
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(2), facts(3)}, drainOfC2(v1alpha1.GoalDrain))
	w.look()
	w.look()
	w.plan(split(4, map[string]int32{"c1": 500, "c2": 0, "c3": 500}, "c2"))
	w.set("c2", facts(2, fenced(1)))
	w.prove("c1", "c2", "c3")
	w.look()
	w.set("c2", facts(2, fenced(1), plain))
	if everywhere {
		w.remove("c1")
		w.remove("c3")
	}
	w.writes()
	return w
}

func (w *world) turn(goal v1alpha1.GoalKind) {
	w.Helper()
	d := drainOfC2(goal)
	var live v1alpha1.ClusterDrain
	if err := w.hub.Get(w.Context(), types.NamespacedName{Name: "c2"}, &live); err != nil {
		w.Fatal(err)
	}
	live.Status.Goal = d.Status.Goal
	if err := w.hub.Status().Update(w.Context(), &live); err != nil {
		w.Fatal(err)
	}
}

func TestAFenceIsLeftOnNoPodOfAServiceThatIsGlobalNoLonger(t *testing.T) {
	for name, everywhere := range map[string]bool{"in one member": false, "in all members": true} {
		t.Run(name, func(t *testing.T) {
			w := unannotated(t, everywhere)
			for range 3 {
				w.look()
				w.ahead += releaseHold + time.Second
				w.r.Config.SightLost = time.Hour
			}
			if gs := w.service(); everywhere != (gs == nil) {
				t.Fatalf("the record: %+v", gs)
			}
			if got := w.patched(); len(got) > 0 || w.stands("c2", "MutatingAdmissionPolicy") == nil {
				t.Errorf("c2 is out of service, and its pods were given back: %v", got)
			}
			w.turn(v1alpha1.GoalUndrain)
			w.look()
			want := []string{"c2 PATCH /api/v1/namespaces/demo/pods/echo-0", "c2 PATCH /api/v1/namespaces/demo/pods/echo-1"}
			if got := w.patched(); !slices.Equal(got, want) {
				t.Errorf("the fence is left: %v", got)
			}
			if w.stands("c2", "MutatingAdmissionPolicy") != nil {
				t.Error("new pods of a plain Service come up fenced")
			}
			w.remove("c2") // nothing is left to tell
			w.look()
			if got := w.patched(); len(got) > 0 {
				t.Errorf("wrote %v", got)
			}
		})
	}
}

func TestAServiceThatIsMadeGlobalAgainKeepsItsFenceWhileTheDrainLasts(t *testing.T) {
	w := unannotated(t, true)
	for range 3 {
		w.look()
		w.ahead += releaseHold + time.Second
		w.r.Config.SightLost = time.Hour
	}
	w.patched()
	w.set("c2", facts(2, fenced(1)))
	w.look()
	w.look()
	gs := w.service()
	if got := w.patched(); len(got) > 0 || len(gs.Spec.Clusters) != 1 || gs.Spec.Clusters[0].NewPods != v1alpha1.PodsFenced {
		t.Errorf("wrote %v, plan %+v", got, gs.Spec)
	}
}
