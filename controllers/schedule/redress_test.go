// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/view"
)

// health says what liveness made of a cluster.
func (w *world) health(cluster string, reason v1alpha1.ClusterHealth) {
	w.Helper()
	c := &v1alpha1.Cluster{}
	if err := w.Get(w.Context(), client.ObjectKey{Name: cluster}, c); err != nil {
		w.Fatal(err)
	}
	status := metav1.ConditionFalse
	if reason == v1alpha1.HealthHealthy {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionHealthy, Status: status, Reason: string(reason)})
	if err := w.Status().Update(w.Context(), c); err != nil {
		w.Fatal(err)
	}
}

// drainedOnce is a hub of three members with the workload, of which c1 was drained and everything has moved.
func drainedOnce(t *testing.T) (*world, *v1alpha1.ClusterDrain) {
	t.Helper()
	w := newWorld(t, 3, web)
	w.pass()
	w.run()
	drain := w.drain("c1")
	for range 2 {
		w.pass()
		w.run()
	}
	w.want(w.pass(), "c2:3 c3:3", "c2:3 c3:3", v1alpha1.TriggerCreated, v1alpha1.TriggerDrain)
	return w, drain
}

func TestAShareThatIsGivenBackWhileBeatsAreLateIsMadeWholeWhenTheyAreNot(t *testing.T) {
	w, drain := drainedOnce(t)
	w.health("c1", v1alpha1.HealthSuspect)
	if err := w.Delete(t.Context(), drain); err != nil {
		t.Fatal(err)
	}
	w.run()
	if b := w.pass(); b.Spec.Clusters[0].Name == "c1" && b.Spec.Clusters[0].Replicas == 2 {
		t.Fatalf("a suspect cluster gets its share whole: %+v", b.Spec.Clusters)
	}
	w.run()
	w.health("c1", v1alpha1.HealthHealthy)
	b := w.pass()
	w.run()
	w.want(b, "c1:2 c2:2 c3:2", "c1:2 c2:2 c3:3", v1alpha1.TriggerCreated, v1alpha1.TriggerDrain, v1alpha1.TriggerUndrain, v1alpha1.TriggerUndrain)
}

func TestAHubThatBeganAnewGivesAShareBackWhenItHearsTheMembers(t *testing.T) {
	w, drain := drainedOnce(t)
	if err := w.Delete(t.Context(), drain); err != nil {
		t.Fatal(err)
	}
	w.run()
	seen := w.views.all
	w.views.all = nil
	w.r = &Reconciler{Client: w, Views: w.views, Recorder: w.told, Now: w.r.Now}
	w.want(w.pass(), "c2:3 c3:3", "c2:3 c3:3", v1alpha1.TriggerCreated, v1alpha1.TriggerDrain, v1alpha1.TriggerUndrain)
	w.views.all = seen
	b := w.pass()
	w.want(b, "c1:2 c2:2 c3:2", "c1:2 c2:3 c3:3", v1alpha1.TriggerCreated, v1alpha1.TriggerDrain, v1alpha1.TriggerUndrain, v1alpha1.TriggerUndrain)
}

// began makes the hub begin anew.
func (w *world) began() {
	w.r = &Reconciler{Client: w, Views: w.views, Recorder: w.told, Now: w.r.Now}
}

// again makes one pass, and returns when it asks for the next.
func (w *world) again() time.Duration {
	w.Helper()
	result, err := w.r.Reconcile(w.Context(), all)
	if err != nil {
		w.Fatal(err)
	}
	return result.RequeueAfter
}

// That a view has come, or is fresh again, is told to nobody.
func TestAShareIsMadeWholeSecondsAfterTheViewThatItWaitsForIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		goes, comes func(w *world, seen map[string]*view.View)
	}{
		"no view": {
			func(w *world, _ map[string]*view.View) { w.views.all = nil },
			func(w *world, seen map[string]*view.View) { w.views.all = seen },
		},
		"an old view": {
			func(w *world, _ map[string]*view.View) {
				w.views.see(w.T, "c1", 2, 2) // of which half counts
				w.views.since = w.now.Add(-time.Minute)
			},
			func(w *world, _ map[string]*view.View) { w.views.since = time.Time{} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, drain := drainedOnce(t)
			seen := w.views.all
			c.goes(w, seen)
			w.undrain(drain)
			w.run()
			w.began()
			b := w.pass()
			if c := b.Spec.Clusters[0]; c.Name == "c1" && c.Replicas == 2 {
				t.Fatalf("decided %+v without a view", b.Spec.Clusters)
			}
			w.run()
			w.pass()
			for range 3 { // while nothing is heard, looks are paced and write nothing.
				before := w.binding().ResourceVersion
				if again := w.again(); again != tryAgain || w.binding().ResourceVersion != before {
					t.Fatalf("looks again after %v, at version %s after %s", again, w.binding().ResourceVersion, before)
				}
				w.now = w.now.Add(tryAgain)
			}
			c.comes(w, seen)
			w.settle("c1:2 c2:2 c3:2")
			if again := w.again(); again <= tryAgain {
				t.Errorf("looks again after %v though nothing is owed", again)
			}
		})
	}
}

// That a cluster is healthy again is an event, and so is a drain that ends: nobody has to look for it.
func TestNobodyLooksForTheViewOfAClusterThatIsNotHealthy(t *testing.T) {
	for _, health := range []v1alpha1.ClusterHealth{v1alpha1.HealthSuspect, v1alpha1.HealthDead, "NeverHeard"} {
		t.Run(string(health), func(t *testing.T) {
			w, drain := drainedOnce(t)
			delete(w.views.all, "c1")
			w.health("c1", health)
			w.undrain(drain)
			w.pass()
			w.run()
			w.pass()
			if again := w.again(); again <= tryAgain {
				t.Errorf("looks again after %v", again)
			}
			w.health("c1", v1alpha1.HealthHealthy)
			if again := w.again(); again > tryAgain {
				t.Errorf("healthy without a view, it looks again after %v", again)
			}
		})
	}
}

func TestAPreferenceThatWasNotObeyedForWantOfAViewIsObeyedWhenThereIsOne(t *testing.T) {
	w := newWorld(t, 3, web)
	w.settle("c1:2 c2:2 c3:2")
	seen := w.views.all
	w.views.all = nil
	w.pass()
	w.wish(weighted("c1", 4))
	w.settle("c1:2 c2:2 c3:2")
	w.views.all = seen
	w.settle("c1:4 c2:1 c3:1")
}

// c1 and c2 are suspect in turns, and each time one can be counted on again the split is looked at once more.
func TestClustersThatAreSuspectInTurnsPushNothingOutOfTheHistory(t *testing.T) {
	w, drain := drainedOnce(t)
	w.health("c1", v1alpha1.HealthSuspect)
	w.undrain(drain)
	w.settle("c1:1 c2:2 c3:3")
	turns := []string{"c2", "c1"}
	for i := range 2 * v1alpha1.MaxDecisions {
		w.health(turns[i%2], v1alpha1.HealthSuspect)
		w.health(turns[(i+1)%2], v1alpha1.HealthHealthy)
		w.now = w.now.Add(time.Second)
		for range 3 {
			w.pass()
			w.run()
		}
	}
	h := w.pass().Status.History
	if len(h) > 5 || h[0].Trigger != v1alpha1.TriggerCreated || h[1].Trigger != v1alpha1.TriggerDrain {
		t.Errorf("history %+v", h)
	}
	last := h[len(h)-1]
	if last.Trigger != v1alpha1.TriggerUndrain || !last.Time.Time.Equal(w.now) || !slices.ContainsFunc(last.Reasons, func(r v1alpha1.DecisionReason) bool {
		return r.Cluster == "c1" && r.Code == "Suspect"
	}) {
		t.Errorf("the last record is not of the last look, at %v: %+v", w.now, last)
	}
	w.health("c1", v1alpha1.HealthHealthy)
	w.settle("c1:2 c2:2 c3:2")
}

func TestAShareIsMadeWholeHoweverMuchWasDecidedSince(t *testing.T) {
	w, drain := drainedOnce(t)
	w.health("c1", v1alpha1.HealthSuspect)
	w.undrain(drain)
	w.settle("c1:1 c2:2 c3:3")
	for i := range 2 * v1alpha1.MaxDecisions {
		w.wish(replicas(int32(7 - i%2)))
		w.again()
	}
	h := w.binding().Status.History
	if len(h) != v1alpha1.MaxDecisions || h[0].Trigger != v1alpha1.TriggerUndrain || h[1].Trigger != v1alpha1.TriggerWishChanged {
		t.Errorf("history %+v", h)
	}
	w.health("c1", v1alpha1.HealthHealthy)
	w.again()
	want := []v1alpha1.BindingCluster{{Name: "c1", Replicas: 2}, {Name: "c2", Replicas: 2}, {Name: "c3", Replicas: 2}}
	if b := w.binding(); !sameDivision(b.Spec.Clusters, want) {
		t.Errorf("decided %+v", b.Spec.Clusters)
	}
}
