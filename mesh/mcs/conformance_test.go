// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package mcs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/weir-io/weir/mesh/mcs"
)

// These tests say in our words what the conformance suite of the API checks, by
// the numbers that our documents give its specs.

// importOf merges and writes the import for a cluster with the hello Service.
func importOf(t *testing.T, exports ...mcs.Export) *mcsv1beta1.ServiceImport {
	t.Helper()
	imp, _ := mcs.Merge(mcs.Present{}, exports)
	if len(imp.Clusters) == 0 {
		t.Fatal("no import")
	}
	return mcs.ServiceImport("ns", "hello", imp, hello())
}

func TestC1ImportStaysWhileOneExportRemains(t *testing.T) {
	both, _ := mcs.Merge(mcs.Present{}, []mcs.Export{export("c1", 0, hello()), export("c2", 1, hello())})
	one, _ := mcs.Merge(both.Present(), []mcs.Export{export("c2", 1, hello())})
	none, _ := mcs.Merge(one.Present(), nil)
	for name, tc := range map[string]struct {
		got  mcs.Import
		want []string
	}{"both": {both, []string{"c1", "c2"}}, "one": {one, []string{"c2"}}, "none": {none, nil}} {
		if diff := cmp.Diff(tc.want, tc.got.Clusters); diff != "" {
			t.Errorf("%s: exporting clusters (-want +got):\n%s", name, diff)
		}
	}
	existing := mcs.ServiceImport("ns", "hello", one, hello())
	if d := mcs.DecideImport(nil, existing); d.Action != mcs.Delete {
		t.Errorf("after the last export: %v, want Delete", d)
	}
}

func TestC2OnlyExportedLabelsTravel(t *testing.T) {
	got := importOf(t, export("c1", 0, hello(), func(se *mcsv1beta1.ServiceExport) {
		se.Labels["on-export"] = "no"
		se.Spec.ExportedLabels = map[string]string{"a": "1", mcs.LabelManagedBy: "me"}
		se.Spec.ExportedAnnotations = map[string]string{"b": "2"}
	}))
	want := map[string]string{"a": "1", mcs.LabelManagedBy: mcs.ManagedBy}
	if diff := cmp.Diff(want, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	want = map[string]string{"b": "2", mcs.AnnotationWinner: "c1"}
	if diff := cmp.Diff(want, got.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

func TestC3OldestLabelsWinAsAWhole(t *testing.T) {
	labelled := func(l, a map[string]string) func(*mcsv1beta1.ServiceExport) {
		return func(se *mcsv1beta1.ServiceExport) { se.Spec.ExportedLabels, se.Spec.ExportedAnnotations = l, a }
	}
	exports := []mcs.Export{
		export("c1", 0, hello(), labelled(map[string]string{"a": "1"}, map[string]string{"x": "1"})),
		export("c2", 1, hello(), labelled(map[string]string{"a": "2", "b": "2"}, nil)),
	}
	imp, conflicts := mcs.Merge(mcs.Present{}, exports)
	if diff := cmp.Diff(map[string]string{"a": "1"}, imp.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	holdConflict(t, exports, imp, conflicts, "LabelsConflict,AnnotationsConflict")
}

// holdConflict expects Conflict with the reason on the exports of both clusters.
func holdConflict(t *testing.T, exports []mcs.Export, imp mcs.Import, conflicts []mcs.Conflict, reason string) {
	t.Helper()
	for _, e := range exports {
		got := condition(mcs.ExportConditions(e, imp, conflicts, true), "Conflict")
		if got.Status != metav1.ConditionTrue || got.Reason != reason {
			t.Errorf("cluster %s: Conflict is %s with %q, want True with %q", e.Cluster, got.Status, got.Reason, reason)
		}
		for _, c := range conflicts {
			for _, part := range []string{c.Property, c.Value, c.Winner, c.Others[0].Cluster, c.Others[0].Value, "1 of 2"} {
				if !strings.Contains(got.Message, part) {
					t.Errorf("cluster %s: message %q does not say %q", e.Cluster, got.Message, part)
				}
			}
		}
	}
}

func TestC4ClusterSetIPImportAndValidExport(t *testing.T) {
	for _, kind := range []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer} {
		e := export("c1", 0, hello(func(s *corev1.Service) { s.Spec.Type = kind }))
		got := importOf(t, e)
		if got.Spec.Type != mcsv1beta1.ClusterSetIP {
			t.Errorf("%s: type %q", kind, got.Spec.Type)
		}
		if ready := condition(got.Status.Conditions, "Ready"); ready.Status != metav1.ConditionTrue || ready.Reason != "Ready" {
			t.Errorf("%s: import's Ready is %v", kind, ready)
		}
		imp, conflicts := mcs.Merge(mcs.Present{}, []mcs.Export{e})
		for kind, want := range map[string]metav1.Condition{
			"Valid":    {Status: metav1.ConditionTrue, Reason: "Valid"},
			"Ready":    {Status: metav1.ConditionTrue, Reason: "Exported"},
			"Conflict": {Status: metav1.ConditionFalse, Reason: "NoConflicts"},
		} {
			if c := condition(mcs.ExportConditions(e, imp, conflicts, true), kind); c.Status != want.Status || c.Reason != want.Reason {
				t.Errorf("%s is %s with %q, want %s with %q", kind, c.Status, c.Reason, want.Status, want.Reason)
			}
		}
	}
}

func TestC5ToC7ServiceSettingsAreCopied(t *testing.T) {
	local, near := corev1.ServiceInternalTrafficPolicyLocal, "PreferClose"
	service := hello(func(s *corev1.Service) {
		s.Spec.InternalTrafficPolicy, s.Spec.TrafficDistribution = &local, &near
	})
	got := importOf(t, export("c1", 0, service)).Spec
	want := mcsv1beta1.ServiceImportSpec{
		Type: got.Type, IPs: got.IPs, IPFamilies: got.IPFamilies, Ports: got.Ports,
		SessionAffinity: corev1.ServiceAffinityClientIP, SessionAffinityConfig: service.Spec.SessionAffinityConfig,
		InternalTrafficPolicy: &local, TrafficDistribution: &near,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestC8OneIPForEachFamilyInOrder(t *testing.T) {
	got := importOf(t, export("c1", 0, hello())).Spec
	if diff := cmp.Diff([]string{"10.0.0.1", "fd00::1"}, got.IPs); diff != "" {
		t.Errorf("IPs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}, got.IPFamilies); diff != "" {
		t.Errorf("families (-want +got):\n%s", diff)
	}
}

func TestC9PortsAreTheServices(t *testing.T) {
	h2c := "kubernetes.io/h2c"
	got := importOf(t, export("c1", 0, hello(ports(
		corev1.ServicePort{Name: "z", Protocol: corev1.ProtocolTCP, Port: 90, NodePort: 30000, AppProtocol: &h2c},
		corev1.ServicePort{Name: "a", Port: 80},
	)))).Spec.Ports
	want := []mcsv1beta1.ServicePort{
		{Name: "z", Protocol: corev1.ProtocolTCP, Port: 90, AppProtocol: &h2c},
		{Name: "a", Protocol: corev1.ProtocolTCP, Port: 80},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
}

func TestC10AndC11HeadlessImportHasNoIPs(t *testing.T) {
	imp, _ := mcs.Merge(mcs.Present{}, []mcs.Export{export("c1", 0, hello(headless))})
	for name, local := range map[string]*corev1.Service{"none": nil, "headless": hello(headless), "with IPs": hello()} {
		got := mcs.ServiceImport("ns", "hello", imp, local)
		if got.Spec.Type != mcsv1beta1.Headless || len(got.Spec.IPs) != 0 {
			t.Errorf("local Service %s: type %q, IPs %v", name, got.Spec.Type, got.Spec.IPs)
		}
		if ready := condition(got.Status.Conditions, "Ready"); ready.Status != metav1.ConditionTrue {
			t.Errorf("local Service %s: Ready is %v", name, ready)
		}
	}
}

func TestC12ExportThatIsNotValidMakesNoImport(t *testing.T) {
	cases := map[string]struct {
		service *corev1.Service
		reason  string
	}{
		"ExternalName": {hello(external), "InvalidServiceType"},
		"no Service":   {nil, "NoService"},
	}
	for name, tc := range cases {
		e := export("c1", 0, tc.service)
		imp, conflicts := mcs.Merge(mcs.Present{}, []mcs.Export{e})
		if len(imp.Clusters) != 0 || len(conflicts) != 0 {
			t.Errorf("%s: import %v, conflicts %v", name, imp, conflicts)
		}
		conditions := mcs.ExportConditions(e, imp, conflicts, true)
		if got := condition(conditions, "Valid"); got.Status != metav1.ConditionFalse || got.Reason != tc.reason || got.Message == "" {
			t.Errorf("%s: Valid is %v", name, got)
		}
		if got := condition(conditions, "Ready"); got.Status != metav1.ConditionFalse || got.Reason != "Failed" {
			t.Errorf("%s: Ready is %v", name, got)
		}
		if got := condition(conditions, "Conflict"); got.Status != metav1.ConditionFalse {
			t.Errorf("%s: Conflict is %v", name, got)
		}
	}
}

func TestC13OlderTypeWins(t *testing.T) {
	exports := []mcs.Export{export("c1", 0, hello()), export("c2", 2, hello(headless))}
	imp, conflicts := mcs.Merge(mcs.Present{}, exports)
	if imp.Type != mcsv1beta1.ClusterSetIP {
		t.Errorf("type %q, want the older", imp.Type)
	}
	holdConflict(t, exports, imp, conflicts, "TypeConflict")
	got := mcs.ServiceImport("ns", "hello", imp, hello(headless))
	if ready := condition(got.Status.Conditions, "Ready"); ready.Status != metav1.ConditionFalse || !strings.Contains(ready.Message, "c1") {
		t.Errorf("import beside a headless Service: Ready is %v", ready)
	}
}

func TestC19PortsAreJoined(t *testing.T) {
	second := hello(func(s *corev1.Service) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "sctp", Protocol: corev1.ProtocolSCTP, Port: 42})
	})
	exports := []mcs.Export{export("c1", 0, hello()), export("c2", 2, second)}
	imp, conflicts := mcs.Merge(mcs.Present{}, exports)
	holdPorts(t, imp, "tcp/42/TCP udp/42/UDP sctp/42/SCTP")
	holdConflict(t, exports, imp, conflicts, "PortConflict")
}

func TestC20OlderPortWins(t *testing.T) {
	second := hello(func(s *corev1.Service) { s.Spec.Ports[0].Port = 43 })
	exports := []mcs.Export{export("c1", 0, hello()), export("c2", 2, second)}
	imp, conflicts := mcs.Merge(mcs.Present{}, exports)
	holdPorts(t, imp, "tcp/42/TCP udp/42/UDP")
	holdConflict(t, exports, imp, conflicts, "PortConflict")
}

func holdPorts(t *testing.T, imp mcs.Import, want string) {
	t.Helper()
	var parts []string
	for _, p := range imp.Ports {
		parts = append(parts, fmt.Sprintf("%s/%d/%s", p.Name, p.Port, p.Protocol))
	}
	if got := strings.Join(parts, " "); got != want {
		t.Errorf("ports %q, want %q", got, want)
	}
}
