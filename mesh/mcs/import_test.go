// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package mcs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/weir-io/weir/mesh/mcs"
)

func TestImportIsNotReadyWithoutAnIP(t *testing.T) {
	imp, _ := mcs.Merge(mcs.Present{}, []mcs.Export{export("c1", 0, hello(func(s *corev1.Service) {
		s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol}
	}))})
	cases := map[string]struct {
		local  *corev1.Service
		ips    []string
		reason string
	}{
		"no Service":                 {nil, nil, "Pending"},
		"ExternalName":               {hello(external), nil, "Pending"},
		"headless":                   {hello(headless), nil, "Pending"},
		"no IP yet":                  {hello(func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.ClusterIPs = "", nil }), nil, "Pending"},
		"family is there":            {hello(), []string{"fd00::1"}, "Ready"},
		"only the other family":      {hello(func(s *corev1.Service) { s.Spec.IPFamilies = s.Spec.IPFamilies[:1] }), nil, "IPFamilyNotSupported"},
		"family without its address": {hello(func(s *corev1.Service) { s.Spec.ClusterIPs = s.Spec.ClusterIPs[:1] }), nil, "IPFamilyNotSupported"},
	}
	for name, tc := range cases {
		got := mcs.ServiceImport("ns", "hello", imp, tc.local)
		ready := condition(got.Status.Conditions, "Ready")
		if ready.Reason != tc.reason || (ready.Status == metav1.ConditionTrue) != (tc.reason == "Ready") || (ready.Message == "") != (tc.reason == "Ready") {
			t.Errorf("%s: Ready is %v, want reason %s", name, ready, tc.reason)
		}
		if diff := cmp.Diff(tc.ips, got.Spec.IPs); diff != "" || len(got.Spec.IPFamilies) != len(tc.ips) {
			t.Errorf("%s: IPs %v for families %v", name, got.Spec.IPs, got.Spec.IPFamilies)
		}
	}
}

func TestStubServiceHasTheImportsPortsAndNoSelector(t *testing.T) {
	imp, _ := mcs.Merge(mcs.Present{}, []mcs.Export{export("c1", 0, hello())})
	got := mcs.StubService("ns", "hello", imp)
	want := []corev1.ServicePort{{Name: "tcp", Protocol: corev1.ProtocolTCP, Port: 42}, {Name: "udp", Protocol: corev1.ProtocolUDP, Port: 42}}
	if diff := cmp.Diff(want, got.Spec.Ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	if got.Spec.Selector != nil || got.Spec.ClusterIP != "" || got.Labels[mcs.LabelManagedBy] != mcs.ManagedBy {
		t.Errorf("stub %+v", got)
	}
}

// People apply a Service of their own over the stub. Its labels stay, and are put on its EndpointSlices, of which Istio leaves out
// those that are of the MCS API.
func TestEndpointsOfAServiceThatWasAStubAreSeenByIstio(t *testing.T) {
	imp, _ := mcs.Merge(mcs.Present{}, []mcs.Export{export("c1", 0, hello())})
	for label := range mcs.StubService("ns", "hello", imp).Labels {
		if strings.Contains(label, mcsv1beta1.GroupName) || strings.HasPrefix(label, "multicluster.kubernetes.io/") {
			t.Errorf("label %s", label)
		}
	}
}

func TestUsersEditsOfAnImportAreWrittenBack(t *testing.T) {
	imp, _ := mcs.Merge(mcs.Present{}, []mcs.Export{export("c1", 0, hello())})
	edits := map[string]struct {
		edit func(*mcsv1beta1.ServiceImport)
		want mcs.Action
	}{
		"none":              {func(*mcsv1beta1.ServiceImport) {}, mcs.Keep},
		"a label of theirs": {func(si *mcsv1beta1.ServiceImport) { si.Labels["team"] = "a" }, mcs.Keep},
		"times":             {func(si *mcsv1beta1.ServiceImport) { si.Status.Conditions[0].LastTransitionTime = metav1.NewTime(start) }, mcs.Keep},
		"port":              {func(si *mcsv1beta1.ServiceImport) { si.Spec.Ports[0].Port = 1 }, mcs.Apply},
		"IP":                {func(si *mcsv1beta1.ServiceImport) { si.Spec.IPs = nil }, mcs.Apply},
		"winner":            {func(si *mcsv1beta1.ServiceImport) { delete(si.Annotations, mcs.AnnotationWinner) }, mcs.Apply},
		"clusters":          {func(si *mcsv1beta1.ServiceImport) { si.Status.Clusters = nil }, mcs.Apply},
		"condition":         {func(si *mcsv1beta1.ServiceImport) { si.Status.Conditions[0].Status = metav1.ConditionUnknown }, mcs.Apply},
		"ownership":         {func(si *mcsv1beta1.ServiceImport) { delete(si.Labels, mcs.LabelManagedBy) }, mcs.Refuse},
	}
	for name, tc := range edits {
		existing := mcs.ServiceImport("ns", "hello", imp, hello())
		tc.edit(existing)
		if got := mcs.DecideImport(mcs.ServiceImport("ns", "hello", imp, hello()), existing); got.Action != tc.want {
			t.Errorf("%s: %v, want %s", name, got, tc.want)
		}
	}
}

func TestImportOfSomeoneElseIsAConflictAndLeftAlone(t *testing.T) {
	theirs := &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Name: "hello"}, Spec: mcsv1beta1.ServiceImportSpec{Type: mcsv1beta1.Headless}}
	imp, _ := mcs.Merge(mcs.PresentOf(theirs), []mcs.Export{export("c1", 0, hello())})
	if imp.Type != mcsv1beta1.ClusterSetIP {
		t.Error("an import that weir did not make counted as the present one")
	}
	got := mcs.DecideImport(mcs.ServiceImport("ns", "hello", imp, hello()), theirs)
	if got.Action != mcs.Refuse || !strings.Contains(got.Message, "weir did not make") {
		t.Errorf("decided %v", got)
	}
	if got := mcs.DecideImport(nil, theirs); got.Action != mcs.Keep {
		t.Errorf("with no export: %v, want Keep", got)
	}
	if got := mcs.DecideImport(mcs.ServiceImport("ns", "hello", imp, hello()), nil); got.Action != mcs.Apply {
		t.Errorf("with none there: %v, want Apply", got)
	}
	if got := mcs.DecideImport(nil, nil); got.Action != mcs.Keep {
		t.Errorf("with nothing at all: %v, want Keep", got)
	}
}

func TestExportDecisions(t *testing.T) {
	ours := func(change ...func(*mcsv1beta1.ServiceExport)) *mcsv1beta1.ServiceExport {
		se := mcs.NewServiceExport("ns", "hello")
		for _, c := range change {
			c(se)
		}
		return se
	}
	theirs := ours(func(se *mcsv1beta1.ServiceExport) { se.Labels = nil })
	going := func(se *mcsv1beta1.ServiceExport) { se.DeletionTimestamp = new(metav1.NewTime(start)) }
	held := func(se *mcsv1beta1.ServiceExport) { se.Finalizers = []string{"example.com/hold"} }
	cases := map[string]struct {
		wanted   bool
		service  *corev1.Service
		existing *mcsv1beta1.ServiceExport
		want     mcs.Action
		says     string
	}{
		"wanted":                         {true, hello(), nil, mcs.Apply, ""},
		"wanted and there":               {true, hello(), ours(), mcs.Keep, ""},
		"wanted, theirs is there":        {true, hello(), theirs, mcs.Keep, "used as it is"},
		"wanted without a Service":       {true, nil, nil, mcs.Keep, "no Service"},
		"wanted of an ExternalName":      {true, hello(external), nil, mcs.Keep, "ExternalName"},
		"not wanted":                     {false, hello(), nil, mcs.Keep, ""},
		"not wanted and there":           {false, hello(), ours(), mcs.Delete, ""},
		"not wanted, theirs is there":    {false, hello(), theirs, mcs.Keep, "stays exported"},
		"being deleted":                  {false, hello(), ours(going), mcs.Keep, ""},
		"being deleted, held by someone": {false, hello(), ours(going, held), mcs.Keep, `"example.com/hold"`},
	}
	for name, tc := range cases {
		got := mcs.DecideExport(tc.wanted, tc.service, tc.existing)
		if got.Action != tc.want || !strings.Contains(got.Message, tc.says) || (tc.says == "") != (got.Message == "") {
			t.Errorf("%s: %v, want %s with %q", name, got, tc.want, tc.says)
		}
	}
}

func TestWeirsExportHasNoFinalizer(t *testing.T) {
	if got := mcs.NewServiceExport("ns", "hello"); len(got.Finalizers) != 0 || got.APIVersion == "" || got.Kind == "" {
		t.Errorf("export %+v", got)
	}
}

func TestExportIsPendingUntilImportsStand(t *testing.T) {
	e := export("c1", 0, hello())
	imp, _ := mcs.Merge(mcs.Present{}, []mcs.Export{e})
	if got := condition(mcs.ExportConditions(e, imp, nil, false), "Ready"); got.Status != metav1.ConditionFalse || got.Reason != "Pending" {
		t.Errorf("Ready is %v", got)
	}
}

func TestConditionsCarryNoTimes(t *testing.T) {
	e := export("c1", 0, hello())
	e.UnheardSince = start.Add(time.Hour)
	imp, conflicts := mcs.Merge(mcs.Present{}, []mcs.Export{e, export("c2", 1, hello(headless))})
	for _, c := range mcs.ExportConditions(e, imp, conflicts, true) {
		if !c.LastTransitionTime.IsZero() || strings.Contains(c.Message, "2026") {
			t.Errorf("condition %v", c)
		}
	}
}
