// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/mesh/mcs"
	"github.com/weir-io/weir/resview/pb"
)

// standing is what an agent tells of the Service that weir made.
func standing(change ...func(*pb.ServiceFacts)) *pb.ServiceFacts {
	f := facts(0, func(f *pb.ServiceFacts) {
		f.Annotations, f.Selector, f.Workloads = map[string]string{mcs.AnnotationStandIn: "true"}, nil, nil
		f.ClusterIp = "10.0.3.7"
	})
	for _, c := range change {
		c(f)
	}
	return f
}

func exported(gs *v1alpha1.GlobalService) (reason, message string) {
	c := meta.FindStatusCondition(gs.Status.Conditions, v1alpha1.ConditionExported)
	return string(c.Status) + " " + c.Reason, c.Message
}

func TestAMemberWithoutTheServiceImportsItUnderAnAddressOfItsOwn(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3), nil})
	w.look()
	w.look()
	made := w.stands("c3", "Service")
	if made == nil {
		t.Fatal("clients of c3 have no name to call")
	}
	selector, _, _ := unstructured.NestedMap(made.Object, "spec", "selector")
	ports, _, _ := unstructured.NestedSlice(made.Object, "spec", "ports")
	if len(selector) > 0 || len(ports) != 1 || !mcs.StandsIn(made.GetLabels(), made.GetAnnotations(), false) {
		t.Errorf("made %v", made.Object)
	}
	if w.stands("c3", "ServiceExport") != nil {
		t.Error("c3 exports what it does not have")
	}
	ips := func(name string) string {
		list, _, _ := unstructured.NestedStringSlice(w.stands(name, "ServiceImport").Object, "spec", "ips")
		return strings.Join(list, ",")
	}
	if ips("c3") != "" || ips("c1") != "10.0.0.1" {
		t.Errorf("imports have %q in c3, %q in c1", ips("c3"), ips("c1"))
	}
	w.set("c3", standing())
	gs := w.look()
	if ips("c3") != "10.0.3.7" {
		t.Errorf("its own address is %q", ips("c3"))
	}
	if len(gs.Status.Clusters) != 2 || len(w.r.targets[key].target.GetSubsets()) != 2 {
		t.Errorf("who has no pods is none to send to: %+v", gs.Status.Clusters)
	}
	if reason, message := exported(gs); reason != "True Exported" {
		t.Errorf("got %s: %s", reason, message)
	}
	w.remove("c1")
	w.remove("c2")
	w.look()
	w.ahead += releaseHold + time.Second
	if gs := w.look(); gs != nil || w.stands("c3", "Service") != nil || w.stands("c3", "ServiceImport") != nil {
		t.Errorf("it is left behind: %+v", gs)
	}
}

func TestAServiceThatStandsInAndIsTakenOverByItsOwnerIsNeverDeleted(t *testing.T) {
	cases := map[string]func(*unstructured.Unstructured){
		"it got a selector": func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedStringMap(u.Object, map[string]string{"app": "echo"}, "spec", "selector")
		},
		"it was made global": func(u *unstructured.Unstructured) {
			a := u.GetAnnotations()
			a[v1alpha1.AnnotationGlobal] = "true"
			u.SetAnnotations(a)
		},
		"its label is gone": func(u *unstructured.Unstructured) { u.SetLabels(nil) },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []*pb.ServiceFacts{facts(3), nil})
			w.look()
			w.look()
			u := w.stands("c2", "Service")
			change(u)
			if err := w.members["c2"].Store.Update(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			w.remove("c1")
			w.look()
			w.ahead += releaseHold + time.Second
			if gs := w.look(); gs != nil || w.stands("c2", "Service") == nil {
				t.Errorf("record %v, Service %v", gs, w.stands("c2", "Service"))
			}
		})
	}
}

func TestAServiceOfTheSameNameIsShownAndLeftAlone(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3), nil})
	own := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "echo"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "theirs"}}}
	if err := w.members["c3"].Store.Create(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	w.look()
	gs := w.look()
	reason, message := exported(gs)
	if reason != "False NotImported" || !strings.Contains(message, "c3 has a Service demo/echo of its own") || !strings.Contains(message, v1alpha1.AnnotationGlobal) {
		t.Errorf("got %s: %s", reason, message)
	}
	for _, s := range w.writes() {
		if strings.HasPrefix(s, "c3 ") {
			t.Errorf("wrote %s", s)
		}
	}
	w.plan(split(1, map[string]int32{"c1": 500, "c2": 500}))
	if w.stands("c3", "VirtualService") == nil {
		t.Error("its clients follow no route")
	}
}

func TestAMemberWithoutTheNamespaceIsToldOfAndGetsNone(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3), nil})
	w.members["c3"].Fail(func(r fleettest.Request) error {
		if r.Method == http.MethodPatch && strings.Contains(r.Path, "/namespaces/demo/") {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "demo")
		}
		return nil
	})
	w.look()
	gs := w.look()
	if reason, message := exported(gs); reason != "False NotImported" || !strings.Contains(message, "c3 has no namespace demo: create it there") {
		t.Errorf("got %s: %s", reason, message)
	}
	gs = w.plan(split(1, map[string]int32{"c1": 500, "c2": 500}))
	if reason, message := ready(gs); reason != "False NotWritten" || !strings.Contains(message, `c3: there is no namespace demo`) || !strings.Contains(message, "create it there") || strings.Count(message, "c3") != 1 {
		t.Errorf("got %s: %s", reason, message)
	}
	if slices.ContainsFunc(w.writes(), func(s string) bool { return strings.HasSuffix(s, "/namespaces") }) {
		t.Error("it made a namespace")
	}
}

func TestRulesWaitUntilThoseOfOthersAreKnownWhereTheServiceIsNot(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3), nil})
	w.look()
	w.look()
	gs := w.plan(split(1, map[string]int32{"c1": 500, "c2": 500}))
	if w.stands("c3", "VirtualService") != nil || w.stands("c1", "VirtualService") == nil {
		t.Error("c3 got rules before anybody knows who else writes some there")
	}
	if missing := strings.Join(gs.Status.Weights.Missing, ";"); gs.Status.Weights.Level != v1alpha1.ProofNone || !strings.Contains(missing, "c3/") {
		t.Errorf("proof %+v", gs.Status.Weights)
	}
	w.set("c3", standing(ruled(foreignRule)))
	gs = w.look()
	if reason, message := ready(gs); reason != "False ForeignRule" || !strings.Contains(message, "c3: ") || !strings.Contains(message, "demo/by-hand") {
		t.Errorf("got %s: %s", reason, message)
	}
	if w.stands("c3", "VirtualService") != nil {
		t.Error("its rule stands beside that of somebody else")
	}
	w.set("c3", standing())
	if w.look(); w.stands("c3", "VirtualService") == nil {
		t.Error("nobody else writes there, and its clients have no route")
	}
}

func TestRulesWaitForAnAgentThatNeverTellsNoLongerThanAMoment(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3), nil})
	w.look()
	w.look()
	w.plan(split(1, map[string]int32{"c1": 500, "c2": 500}))
	w.ahead += standInWait + time.Second
	if w.look(); w.stands("c3", "VirtualService") == nil {
		t.Error("it waits for ever")
	}
}

func TestAStandInThatCannotBeWrittenIsSaid(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3), nil})
	w.members["c3"].Fail(func(r fleettest.Request) error {
		if strings.Contains(r.Path, "/services/") {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "echo", errors.New("no right"))
		}
		return nil
	})
	w.look()
	if reason, message := exported(w.look()); reason != "False NotExported" || !strings.Contains(message, "c3: ") {
		t.Errorf("got %s: %s", reason, message)
	}
}

func TestWhatWentWrongIsSaidBeforeWhatIsOnlyWaitedForAndTriedAgain(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3), nil})
	w.look()
	w.look()
	w.r.stands = nil // as a hub that has just started
	if err := w.members["c3"].Store.Delete(t.Context(), w.stands("c3", "ServiceImport")); err != nil {
		t.Fatal(err)
	}
	broken := true
	w.members["c3"].Fail(func(r fleettest.Request) error {
		if broken && strings.Contains(r.Path, "/serviceimports/") {
			return apierrors.NewInternalError(errors.New("etcd is full"))
		}
		return nil
	})
	gs := w.plan(split(1, map[string]int32{"c1": 500, "c2": 500}))
	if reason, message := exported(gs); reason != "False NotExported" || !strings.Contains(message, "etcd is full") {
		t.Errorf("%s: %s", reason, message)
	}
	broken = false
	if w.look(); w.stands("c3", "ServiceImport") == nil {
		t.Error("it is not tried again")
	}
}
