// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/pb"
)

func steered(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)})
	w.look()
	w.look()
	w.plan(split(1, map[string]int32{"c1": 500, "c2": 500}))
	w.prove("c1", "c2")
	w.look()
	w.writes()
	return w
}

func TestAServiceThatNobodyHasAnyMoreIsTakenAwayRoutesFirst(t *testing.T) {
	w := steered(t)
	w.remove("c1")
	w.remove("c2")
	gs := w.look()
	for _, name := range []string{"c1", "c2"} {
		if w.stands(name, "VirtualService") != nil || w.stands(name, "DestinationRule") == nil {
			t.Errorf("%s: the routes go first, and the subsets that they name stay for now", name)
		}
	}
	if gs == nil {
		t.Fatal("the object went before its subsets")
	}
	if len(w.r.targets) > 0 {
		t.Error("the provers are still asked")
	}
	w.ahead += releaseHold - 5*time.Second
	w.look()
	if w.stands("c1", "DestinationRule") == nil {
		t.Error("the subsets went before every proxy had time to let go of the routes")
	}
	w.ahead += 6 * time.Second
	if gs := w.look(); gs != nil {
		t.Errorf("it is still there: %+v", gs.Status)
	}
	for _, name := range []string{"c1", "c2"} {
		for _, kind := range []string{"VirtualService", "DestinationRule", "ServiceExport", "ServiceImport", "MutatingAdmissionPolicy"} {
			if u := w.stands(name, kind); u != nil {
				t.Errorf("%s: %s %s is left behind", name, kind, u.GetName())
			}
		}
	}
	w.look() // of one that is gone
}

// A member that leaves is searched by the names of services: none may go meanwhile.
func TestAServiceThatNobodyHasIsKeptWhileAMemberLeaves(t *testing.T) {
	w := steered(t)
	var c v1alpha1.Cluster
	if err := w.hub.Get(t.Context(), types.NamespacedName{Name: "c2"}, &c); err != nil {
		t.Fatal(err)
	}
	c.Finalizers = append(c.Finalizers, v1alpha1.FinalizerUnjoin)
	if err := w.hub.Update(t.Context(), &c); err != nil {
		t.Fatal(err)
	}
	if err := w.hub.Delete(t.Context(), &c); err != nil {
		t.Fatal(err)
	}
	w.remove("c1")
	for range 5 {
		if gs := w.look(); gs == nil {
			t.Fatal("it is gone, and c2 was not searched for what it holds of it")
		}
		w.ahead += releaseHold
		w.r.Config.SightLost = time.Hour
	}
	if gs := w.service(); gs.Annotations[v1alpha1.AnnotationReleased] == "" || w.stands("c1", "DestinationRule") != nil || w.stands("c2", "DestinationRule") == nil {
		t.Errorf("c1 is to hold nothing of it, and c2 is not asked here: %v", gs.Annotations)
	}
	if err := w.hub.Get(t.Context(), types.NamespacedName{Name: "c2"}, &c); err != nil {
		t.Fatal(err)
	}
	c.Finalizers = nil
	if err := w.hub.Update(t.Context(), &c); err != nil {
		t.Fatal(err)
	}
	if gs := w.look(); gs != nil {
		t.Errorf("the member is gone, and it is still there: %+v", gs.ObjectMeta)
	}
}

func TestAServiceThatComesBackIsSteeredAndReleasedInOrderAnotherTime(t *testing.T) {
	w := steered(t)
	gs := w.service()
	metav1.SetMetaDataAnnotation(&gs.ObjectMeta, "team", "a")
	if err := w.hub.Update(t.Context(), gs); err != nil {
		t.Fatal(err)
	}
	w.remove("c1")
	w.remove("c2")
	if gs = w.look(); gs.Annotations["team"] != "a" {
		t.Errorf("an annotation of somebody else is gone: %v", gs.Annotations)
	}
	w.set("c1", facts(3))
	w.set("c2", facts(3))
	gs = w.look()
	if gs.Annotations[annotationReleased] != "" || gs.Annotations["team"] != "a" || w.stands("c1", "VirtualService") == nil {
		t.Errorf("it is back: %v", gs.Annotations)
	}
	w.ahead += time.Hour
	w.remove("c1")
	w.remove("c2")
	w.r.Config.SightLost = 2 * time.Hour
	w.look()
	if w.stands("c1", "VirtualService") != nil || w.stands("c1", "DestinationRule") == nil {
		t.Error("the second time the subsets went together with the routes")
	}
}

func TestAServiceIsKeptWhileAMemberThatHadItIsNotHeard(t *testing.T) {
	w := steered(t)
	w.link.Leave(t, "c2", w.members["c2"].agent)
	w.remove("c1")
	gs := w.look()
	if gs == nil || len(gs.Status.Clusters) != 2 || w.stands("c1", "VirtualService") == nil {
		t.Errorf("silence was read as absence: %+v", gs)
	}
}

func TestAClusterThatIsDeletedIsKeptUntilNoWeightNamesIt(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3), facts(3)})
	w.look()
	w.look()
	w.plan(split(1, map[string]int32{"c1": 334, "c2": 333, "c3": 333}))
	w.prove("c1", "c2", "c3")
	w.look()
	if err := w.hub.Delete(t.Context(), &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c2"}}); err != nil {
		t.Fatal(err)
	}
	gs := w.look()
	if len(gs.Status.Clusters) != 3 {
		t.Fatalf("weights name it, and it is forgotten: %+v", gs.Status.Clusters)
	}
	if reason, message := ready(gs); reason != "True Steered" {
		t.Fatalf("got %s: %s", reason, message)
	}
	if c := gs.Status.Clusters[1]; c.Ready != 0 || c.Replicas != 0 || c.Sight != v1alpha1.SightBlind || c.Weight.ProvenHigh != 333 {
		t.Errorf("c2 is %+v", c)
	}
	w.plan(split(2, map[string]int32{"c1": 500, "c2": 0, "c3": 500}))
	w.prove("c1", "c3")
	w.look()
	if gs = w.look(); len(gs.Status.Clusters) != 2 {
		t.Errorf("no weight names it any more: %+v", gs.Status.Clusters)
	}
}

func TestAClusterThatAsksForWhatIsNotServedIsFrozen(t *testing.T) {
	w := steered(t)
	var c v1alpha1.Cluster
	if err := w.hub.Get(t.Context(), types.NamespacedName{Name: "c2"}, &c); err != nil {
		t.Fatal(err)
	}
	c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: v1alpha1.ReasonNotSupported, LastTransitionTime: metav1.Now()}}
	if err := w.hub.Status().Update(t.Context(), &c); err != nil {
		t.Fatal(err)
	}
	w.ahead = time.Minute
	gs := w.look()
	if got := gs.Status.Clusters; len(got) != 2 || got[1].Ready != 3 || got[1].Sight != v1alpha1.SightBlind || got[1].Weight.ProvenHigh != 500 {
		t.Errorf("got %+v", got)
	}
	for _, s := range w.writes() {
		if strings.HasPrefix(s, "c2 ") {
			t.Errorf("wrote %s", s)
		}
	}
}

func TestAMemberThatNoLongerHasTheServiceKeepsItsRulesAndExportsItNoMore(t *testing.T) {
	w := steered(t)
	w.remove("c2")
	w.look()
	if w.stands("c2", "VirtualService") == nil {
		t.Error("its clients have lost their route")
	}
	if w.stands("c2", "ServiceExport") != nil || w.stands("c1", "ServiceExport") == nil {
		t.Error("c2 exports what it does not have, or c1 no longer does")
	}
	var others []string
	for _, s := range w.writes() {
		if strings.HasPrefix(s, "c2 DELETE") && !strings.Contains(s, "multicluster") {
			others = append(others, s)
		}
	}
	if len(others) > 0 {
		t.Errorf("deleted %v", others)
	}
}
