// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/mesh/mcs"
)

const webService = `
metadata: {namespace: shop, name: web, uid: s1, generation: 1}
spec:
  template:
    metadata: {annotations: {weir.io/global: "true"}}
    spec:
      selector: {app: web}
      ports: [{name: http, port: 80, targetPort: 8080}]
  placement: {}
  overrides:
  - clusterName: c2
    clusterOverrides: [{path: /spec/ports/0/targetPort, value: 9090}]
`

func (w *world) lookService() *v1alpha1.FederatedService {
	w.Helper()
	if _, err := w.s.Reconcile(w.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		w.Fatal(err)
	}
	s := &v1alpha1.FederatedService{}
	if err := w.Get(w.Context(), key, s); client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	return s
}

func (w *world) service(cluster string) *corev1.Service {
	w.Helper()
	s := &corev1.Service{}
	err := w.members[cluster].Store.Get(w.Context(), key, s)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func TestEveryMemberThatPlacementAdmitsGetsTheService(t *testing.T) {
	w := newWorld(t, parsed[v1alpha1.FederatedService](t, webService))
	s := w.lookService()
	for cluster, port := range map[string]int32{"c1": 8080, "c2": 9090} {
		got := w.service(cluster)
		if got == nil || got.Spec.Ports[0].TargetPort.IntVal != port || got.Annotations[v1alpha1.AnnotationGlobal] != "true" || got.Spec.Selector["app"] != "web" {
			t.Errorf("%s: %+v", cluster, got)
		}
	}
	if len(s.Status.Clusters) != 2 || !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("%+v", s.Status)
	}
	w.quiet()
	again := w.lookService()
	if writes := w.writes(); len(writes) > 0 || again.ResourceVersion != s.ResourceVersion {
		t.Errorf("wrote %v", writes)
	}
}

func TestAServiceThatLeftThePlacementGoesWhenNobodyIsBehindIt(t *testing.T) {
	gs := &v1alpha1.GlobalService{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	gs.Status.Clusters = []v1alpha1.GlobalServiceClusterStatus{{Name: "c2", Ready: 2}}
	w := newWorld(t, parsed[v1alpha1.FederatedService](t, webService), gs)
	s := w.lookService()
	s.Spec.Placement.Clusters, s.Spec.Overrides = []v1alpha1.PlacementCluster{{Name: "c1"}}, nil
	if err := w.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	s = w.lookService()
	if w.service("c2") == nil || s.Status.Clusters[1].Sync != v1alpha1.SyncRemoving || !strings.Contains(s.Status.Clusters[1].Message, "ready pods") {
		t.Fatalf("%+v", s.Status)
	}
	gs.ResourceVersion = ""
	if err := w.Get(t.Context(), key, gs); err != nil {
		t.Fatal(err)
	}
	gs.Status.Clusters[0].Ready = 0
	if err := w.Status().Update(t.Context(), gs); err != nil {
		t.Fatal(err)
	}
	w.lookService()
	w.lookService()
	if w.service("c2") != nil || w.service("c1") == nil {
		t.Error("c2 is left, or c1 is gone")
	}
	if s = w.lookService(); len(s.Status.Clusters) != 1 || w.work("c2", "Service") != nil {
		t.Errorf("%+v", s.Status.Clusters)
	}
}

func TestAServiceTemplateThatCannotBeReadChangesNothingAndSaysWhere(t *testing.T) {
	w := newWorld(t, parsed[v1alpha1.FederatedService](t, webService))
	s := w.lookService()
	s.Spec.Template.Spec.Raw = []byte(`{"selectr": {"app": "web"}, "ports": [{"port": 80}]}`)
	if err := w.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.quiet()
	s = w.lookService()
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	if c.Reason != v1alpha1.ReasonInvalidTemplate || !strings.Contains(c.Message, "selectr") {
		t.Errorf("%+v", c)
	}
	if writes := w.writes(); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
}

func TestADeletedServiceTakesItsCopiesWithIt(t *testing.T) {
	w := newWorld(t, parsed[v1alpha1.FederatedService](t, webService))
	if err := w.Delete(t.Context(), w.lookService()); err != nil {
		t.Fatal(err)
	}
	w.lookService()
	w.lookService()
	if w.service("c1") != nil || w.service("c2") != nil || w.work("c1", "Service") != nil {
		t.Error("something is left")
	}
}

func TestWhatStandsInMakesPlaceAndWhatSomebodyMadeHisOwnDoesNot(t *testing.T) {
	w := newWorld(t, parsed[v1alpha1.FederatedService](t, webService))
	for cluster, selector := range map[string]map[string]string{"c1": nil, "c2": {"app": "theirs"}} {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web",
			Labels:      map[string]string{member.LabelManaged: member.LabelManagedValue},
			Annotations: map[string]string{mcs.AnnotationStandIn: "true"},
		}}
		s.Spec.Selector, s.Spec.Ports = selector, []corev1.ServicePort{{Port: 80}}
		if err := w.members[cluster].Store.Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	s := w.lookService()
	if got := w.service("c1"); got.Spec.Selector["app"] != "web" || got.Annotations[mcs.AnnotationStandIn] != "" {
		t.Errorf("%+v", got)
	}
	if got := w.service("c2"); got.Spec.Selector["app"] != "theirs" || s.Status.Clusters[1].Sync != v1alpha1.SyncConflict {
		t.Errorf("%+v, %+v", got, s.Status.Clusters)
	}
}

func TestACopyThatIsMarkedAsOneThatStandsInIsStillACopy(t *testing.T) {
	w := newWorld(t, parsed[v1alpha1.FederatedService](t, webService))
	w.lookService()
	marked := w.service("c1")
	marked.Annotations[mcs.AnnotationStandIn] = "true"
	if err := w.members["c1"].Store.Update(t.Context(), marked, client.FieldOwner("weir-globalservice")); err != nil {
		t.Fatal(err)
	}
	w.quiet()
	s := w.lookService()
	if writes := w.writes(); len(writes) > 0 || s.Status.Clusters[0].Sync != v1alpha1.SyncSynced {
		t.Errorf("wrote %v: %+v", writes, s.Status.Clusters[0])
	}
}
