// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package mcs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/weir-io/weir/mesh/mcs"
)

// anyExports draws exports that differ in all that merges compare.
func anyExports(t *rapid.T) []mcs.Export {
	var out []mcs.Export
	for i := range rapid.IntRange(1, 5).Draw(t, "clusters") {
		s := hello(func(s *corev1.Service) {
			if rapid.Bool().Draw(t, "headless") {
				headless(s)
			}
			if rapid.IntRange(0, 9).Draw(t, "external") == 0 {
				external(s)
			}
			if rapid.Bool().Draw(t, "affinity") {
				s.Spec.SessionAffinity, s.Spec.SessionAffinityConfig = corev1.ServiceAffinityNone, nil
			}
			s.Spec.IPFamilies = rapid.Permutation(s.Spec.IPFamilies).Draw(t, "families")
			s.Spec.IPFamilies = s.Spec.IPFamilies[:min(len(s.Spec.IPFamilies), rapid.IntRange(1, 2).Draw(t, "family count"))]
			s.Spec.Ports = nil
			for range rapid.IntRange(0, 3).Draw(t, "ports") {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{
					Name:     rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "name"),
					Protocol: rapid.SampledFrom([]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP}).Draw(t, "protocol"),
					Port:     rapid.Int32Range(1, 3).Draw(t, "port"),
				})
			}
		})
		e := export(fmt.Sprint("c", i), rapid.IntRange(0, 2).Draw(t, "age"), s)
		if rapid.Bool().Draw(t, "labelled") {
			e.Labels = map[string]string{"l": "1"}
		}
		out = append(out, e)
	}
	return out
}

func anyPresent(t *rapid.T) mcs.Present {
	return mcs.Present{
		Winner: rapid.SampledFrom([]string{"", "c0", "c1", "gone"}).Draw(t, "winner"),
		Type:   rapid.SampledFrom([]mcsv1beta1.ServiceImportType{"", mcsv1beta1.ClusterSetIP, mcsv1beta1.Headless}).Draw(t, "type"),
	}
}

// TestMergeIsBlindToOrder holds every order of arrival to one import.
func TestMergeIsBlindToOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exports, present := anyExports(t), anyPresent(t)
		want, wantConflicts := mcs.Merge(present, exports)
		got, gotConflicts := mcs.Merge(present, rapid.Permutation(exports).Draw(t, "order"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("import depends on order:\n%s", diff)
		}
		if diff := cmp.Diff(wantConflicts, gotConflicts); diff != "" {
			t.Fatalf("conflicts depend on order:\n%s", diff)
		}
	})
}

// TestMergeOfItsOwnResultMovesNothing: a second look, or a restarted hub, must
// not write.
func TestMergeOfItsOwnResultMovesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exports := anyExports(t)
		first, _ := mcs.Merge(anyPresent(t), exports)
		second, _ := mcs.Merge(first.Present(), exports)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("second merge moved:\n%s", diff)
		}
		if len(first.Clusters) == 0 {
			return
		}
		written := mcs.ServiceImport("ns", "hello", first, hello())
		if got := mcs.PresentOf(written); got != first.Present() {
			t.Fatalf("read back %v, want %v", got, first.Present())
		}
		if d := mcs.DecideImport(mcs.ServiceImport("ns", "hello", second, hello()), written); d.Action != mcs.Keep {
			t.Fatalf("second look wants to write: %v", d)
		}
	})
}

// TestMergedPortsCanStandInOneService: no name and no protocol and number twice.
func TestMergedPortsCanStandInOneService(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		imp, conflicts := mcs.Merge(anyPresent(t), anyExports(t))
		names, numbers := map[string]bool{}, map[string]bool{}
		for _, p := range imp.Ports {
			number := fmt.Sprint(p.Protocol, p.Port)
			if names[p.Name] || numbers[number] {
				t.Fatalf("ports %v", imp.Ports)
			}
			names[p.Name], numbers[number] = true, true
		}
		for _, c := range conflicts {
			if c.Winner != imp.Winner || len(c.Others) == 0 || len(c.Others) >= c.Of || c.Of != len(imp.Clusters) {
				t.Fatalf("conflict %+v of %+v", c, imp)
			}
		}
	})
}

// TestThreePortListsMergeByAge is the join of three lists, told in one message.
func TestThreePortListsMergeByAge(t *testing.T) {
	tcp := corev1.ProtocolTCP
	exports := []mcs.Export{
		export("young", 9, hello(ports(corev1.ServicePort{Name: "c", Protocol: tcp, Port: 3}, corev1.ServicePort{Name: "a", Protocol: tcp, Port: 9}))),
		export("old", 0, hello(ports(corev1.ServicePort{Name: "a", Protocol: tcp, Port: 1}))),
		export("middle", 5, hello(ports(corev1.ServicePort{Name: "b", Protocol: tcp, Port: 2}, corev1.ServicePort{Name: "x", Protocol: tcp, Port: 1}))),
	}
	imp, conflicts := mcs.Merge(mcs.Present{}, exports)
	holdPorts(t, imp, "a/1/TCP b/2/TCP c/3/TCP")
	want := "ports: [a 1/TCP] of cluster old is used; [b 2/TCP, x 1/TCP] in cluster middle, [a 9/TCP, c 3/TCP] in cluster young (2 of 3 clusters differ)"
	if len(conflicts) != 1 || conflicts[0].String() != want {
		t.Errorf("conflicts %v, want %q", conflicts, want)
	}
}

func TestEqualAgeNeverFlips(t *testing.T) {
	exports := []mcs.Export{export("b", 0, hello()), export("a", 0, hello(headless))}
	first, _ := mcs.Merge(mcs.Present{}, exports)
	if first.Winner != "a" {
		t.Fatalf("winner %q, want the first by name", first.Winner)
	}
	// "b" is the one in the import; "a" joins with the same age.
	present := mcs.Present{Winner: "b", Type: mcsv1beta1.ClusterSetIP}
	for range 1000 {
		slices.Reverse(exports)
		imp, _ := mcs.Merge(present, exports)
		if imp.Winner != "b" || imp.Type != mcsv1beta1.ClusterSetIP {
			t.Fatalf("winner flipped to %q", imp.Winner)
		}
		present = mcs.PresentOf(mcs.ServiceImport("ns", "hello", imp, hello())) // As a restarted hub reads it.
	}
}

func TestRecreatedExportKeepsWinningAndSaysSo(t *testing.T) {
	exports := []mcs.Export{
		export("c1", 100, hello()),
		export("c2", 50, hello(func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityNone })),
	}
	imp, conflicts := mcs.Merge(mcs.Present{Winner: "c1", Type: mcsv1beta1.ClusterSetIP}, exports)
	if imp.Winner != "c1" || !imp.Continuity {
		t.Fatalf("winner %q, continuity %v", imp.Winner, imp.Continuity)
	}
	got := condition(mcs.ExportConditions(exports[1], imp, conflicts, true), "Conflict").Message
	if !strings.Contains(got, "cluster c1 is younger than another, and kept for continuity") {
		t.Errorf("message %q does not tell why the younger wins", got)
	}
}

func TestTypeStaysWhileOneExportSupportsIt(t *testing.T) {
	oldHeadless, younger := export("c2", 1, hello(headless)), export("c3", 2, hello())
	present := mcs.Present{Winner: "c1", Type: mcsv1beta1.ClusterSetIP} // c1 is gone.
	imp, _ := mcs.Merge(present, []mcs.Export{oldHeadless, younger})
	if imp.Type != mcsv1beta1.ClusterSetIP || imp.Winner != "c3" {
		t.Errorf("type %q of %q, want the present type of the only one that has it", imp.Type, imp.Winner)
	}
	imp, _ = mcs.Merge(imp.Present(), []mcs.Export{oldHeadless})
	if imp.Type != mcsv1beta1.Headless || imp.Winner != "c2" {
		t.Errorf("type %q of %q, want what is left", imp.Type, imp.Winner)
	}
}

func TestSilentClusterStaysInTheMerge(t *testing.T) {
	exports := []mcs.Export{
		export("c1", 0, hello()),
		export("c2", 1, hello(func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityNone })),
	}
	before, beforeConflicts := mcs.Merge(mcs.Present{}, exports)
	since := start.Add(time.Minute)
	exports[0].UnheardSince = since
	after, afterConflicts := mcs.Merge(before.Present(), exports)
	if diff := cmp.Diff(map[string]time.Time{"c1": since}, after.Unheard); diff != "" {
		t.Errorf("unheard (-want +got):\n%s", diff)
	}
	after.Unheard = before.Unheard
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("silence moved the import:\n%s", diff)
	}
	if diff := cmp.Diff(beforeConflicts, afterConflicts); diff != "" {
		t.Errorf("silence moved the conflicts:\n%s", diff)
	}
}

func TestSecondExportOfOneClusterIsNotCounted(t *testing.T) {
	imp, conflicts := mcs.Merge(mcs.Present{}, []mcs.Export{export("c1", 3, hello(headless)), export("c1", 0, hello())})
	if diff := cmp.Diff([]string{"c1"}, imp.Clusters); diff != "" || imp.Type != mcsv1beta1.ClusterSetIP || len(conflicts) != 0 {
		t.Errorf("clusters %v, type %q, conflicts %v", imp.Clusters, imp.Type, conflicts)
	}
}

func TestFamiliesConflictOnlyWhereSomePodsCannotBeReached(t *testing.T) {
	only := func(f ...corev1.IPFamily) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.IPFamilies = f }
	}
	cases := map[string]struct {
		second   []corev1.IPFamily
		want     []corev1.IPFamily
		conflict bool
	}{
		"same":           {[]corev1.IPFamily{"IPv4", "IPv6"}, []corev1.IPFamily{"IPv4", "IPv6"}, false},
		"other order":    {[]corev1.IPFamily{"IPv6", "IPv4"}, []corev1.IPFamily{"IPv4", "IPv6"}, false},
		"one in common":  {[]corev1.IPFamily{"IPv6"}, []corev1.IPFamily{"IPv6"}, false},
		"none in common": {nil, []corev1.IPFamily{"IPv4", "IPv6"}, true},
	}
	for name, tc := range cases {
		imp, conflicts := mcs.Merge(mcs.Present{}, []mcs.Export{export("c1", 0, hello()), export("c2", 1, hello(only(tc.second...)))})
		if diff := cmp.Diff(tc.want, imp.IPFamilies); diff != "" {
			t.Errorf("%s: families (-want +got):\n%s", name, diff)
		}
		if got := len(conflicts) == 1 && conflicts[0].Reason == mcsv1beta1.ServiceExportReasonIPFamilyConflict; got != tc.conflict {
			t.Errorf("%s: conflicts %v", name, conflicts)
		}
	}
}

func TestEveryOtherPropertyConflicts(t *testing.T) {
	local, near := corev1.ServiceInternalTrafficPolicyLocal, "PreferClose"
	cases := map[string]func(*corev1.Service){
		"SessionAffinityConflict":       func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityNone },
		"SessionAffinityConfigConflict": func(s *corev1.Service) { s.Spec.SessionAffinityConfig = nil },
		"InternalTrafficPolicyConflict": func(s *corev1.Service) { s.Spec.InternalTrafficPolicy = &local },
		"TrafficDistributionConflict":   func(s *corev1.Service) { s.Spec.TrafficDistribution = &near },
		"PortConflict":                  func(s *corev1.Service) { s.Spec.Ports[0].AppProtocol = &near },
	}
	for reason, change := range cases {
		exports := []mcs.Export{export("c1", 0, hello()), export("c2", 1, hello(change))}
		imp, conflicts := mcs.Merge(mcs.Present{}, exports)
		t.Run(reason, func(t *testing.T) { holdConflict(t, exports, imp, conflicts, reason) })
	}
}

func TestConflictMessageIsBounded(t *testing.T) {
	exports := []mcs.Export{export("c0", 0, hello(ports()))}
	for i := range 40 {
		var list []corev1.ServicePort
		for p := range 400 {
			list = append(list, corev1.ServicePort{Name: fmt.Sprintf("port-%d-of-%d", p, i), Port: int32(p + 1)})
		}
		exports = append(exports, export(fmt.Sprintf("c%02d", i+1), i, hello(ports(list...))))
	}
	imp, conflicts := mcs.Merge(mcs.Present{}, exports)
	got := condition(mcs.ExportConditions(exports[0], imp, conflicts, true), "Conflict")
	if len(got.Message) > 32768 || got.Status != metav1.ConditionTrue {
		t.Errorf("message of %d bytes, status %s", len(got.Message), got.Status)
	}
	if !strings.Contains(conflicts[0].String(), "30 more (40 of 41 clusters differ)") {
		t.Error("the message does not count those it leaves out")
	}
}
