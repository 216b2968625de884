// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
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
