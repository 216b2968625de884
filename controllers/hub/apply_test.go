// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
)

func service() *v1alpha1.GlobalService {
	return &v1alpha1.GlobalService{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "echo", ResourceVersion: "7"}}
}

func read(t *testing.T, c client.Client) *v1alpha1.GlobalService {
	t.Helper()
	gs := service()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(gs), gs); err != nil {
		t.Fatal(err)
	}
	return gs
}

func TestASpecIsWrittenOnlyOnTopOfTheVersionThatWasRead(t *testing.T) {
	c := fleettest.Hub(t, interceptor.Funcs{}, service())
	gs := read(t, c)
	spec := v1alpha1.GlobalServiceSpec{Generation: 1, Phase: v1alpha1.RulesWeights, Clusters: []v1alpha1.GlobalServiceCluster{{Name: "c1", Weight: 1000}}}
	if _, err := ApplySpec(t.Context(), c, "weir-shift", gs, gs.ResourceVersion, spec); err != nil {
		t.Fatal(err)
	}
	if got := read(t, c); got.Spec.Phase != v1alpha1.RulesWeights || got.ResourceVersion == gs.ResourceVersion {
		t.Fatalf("got %+v", got)
	}
	spec.Generation = 2
	if _, err := ApplySpec(t.Context(), c, "weir-shift", gs, gs.ResourceVersion, spec); !apierrors.IsConflict(err) {
		t.Errorf("on top of an older version: %v", err)
	}
	if got := read(t, c); got.Spec.Generation != 1 {
		t.Errorf("got %+v", got.Spec)
	}
}

// Two managers share a status: what one writes of it must leave what the other wrote.
func TestAStatusHoldsWhatOthersOwnOfIt(t *testing.T) {
	c := fleettest.Hub(t, interceptor.Funcs{}, service())
	type shared struct {
		Conditions []metav1.Condition   `json:"conditions,omitempty"`
		Hosts      []string             `json:"hosts,omitempty"`
		Shift      v1alpha1.ShiftStatus `json:"shift,omitzero"`
	}
	condition := func(kind, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: kind, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: Time(time.Unix(1, 0))}}
	}
	steps := []struct {
		manager string
		status  shared
	}{
		{"weir-globalservice", shared{Conditions: condition(v1alpha1.ConditionReady, "Steered"), Hosts: []string{"echo"}}},
		{"weir-shift", shared{Conditions: condition(v1alpha1.ConditionTrafficShifted, "AsWanted"), Shift: v1alpha1.ShiftStatus{Step: "Done"}}},
		{"weir-globalservice", shared{Conditions: condition(v1alpha1.ConditionReady, "Other"), Hosts: []string{"echo"}}},
	}
	for _, s := range steps {
		u, err := ApplyStatus(t.Context(), c, s.manager, service(), "", s.status)
		if err != nil {
			t.Fatal(err)
		}
		if u.GetResourceVersion() == "" || u.GetResourceVersion() == service().ResourceVersion {
			t.Errorf("the version of what stands now is not told: %q", u.GetResourceVersion())
		}
	}
	got := read(t, c)
	reasons := map[string]string{}
	for _, c := range got.Status.Conditions {
		reasons[c.Type] = c.Reason
	}
	if d := cmp.Diff(map[string]string{v1alpha1.ConditionReady: "Other", v1alpha1.ConditionTrafficShifted: "AsWanted"}, reasons); d != "" {
		t.Error(d)
	}
	if got.Status.Shift.Step != "Done" || len(got.Status.Hosts) != 1 {
		t.Errorf("got %+v", got.Status)
	}
}

// A cache may show what stood before the last write: what was remembered by that must not be lost.
func TestAStatusThatRemembersIsWrittenOnlyOnTopOfTheVersionThatWasRead(t *testing.T) {
	c := fleettest.Hub(t, interceptor.Funcs{}, service())
	old := read(t, c).ResourceVersion
	remembers := func(step string) any { return v1alpha1.GlobalServiceStatus{Shift: v1alpha1.ShiftStatus{Step: step}} }
	if _, err := ApplyStatus(t.Context(), c, "weir-shift", service(), old, remembers("Fence")); err != nil {
		t.Fatal(err)
	}
	if _, err := ApplyStatus(t.Context(), c, "weir-shift", service(), old, remembers("Split")); !apierrors.IsConflict(err) {
		t.Errorf("on top of an older version: %v", err)
	}
	if got := read(t, c).Status.Shift.Step; got != "Fence" {
		t.Errorf("got %s", got)
	}
}

func TestAnObjectThatTheSchemeDoesNotKnowIsAnErrorThatNamesIt(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build()
	if _, err := ApplySpec(t.Context(), c, "m", service(), "", struct{}{}); err == nil {
		t.Error("spec: no error")
	}
	if _, err := ApplyStatus(t.Context(), c, "m", service(), "", struct{}{}); err == nil {
		t.Error("status: no error")
	}
	if _, err := ApplyStatus(t.Context(), fleettest.Hub(t, interceptor.Funcs{}), "m", service(), "", make(chan int)); err == nil {
		t.Error("what is no JSON: no error")
	}
}

func TestATimeReadsBackAsItWasWritten(t *testing.T) {
	at := Time(time.Date(2026, 1, 2, 3, 4, 5, 987654321, time.UTC))
	raw, err := at.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var back metav1.Time
	if err := back.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	if !back.Equal(&at) {
		t.Errorf("wrote %s, read %s", at, back)
	}
}

func TestOnlyNotSupportedMeansNotServed(t *testing.T) {
	cases := map[string]struct {
		condition metav1.Condition
		want      bool
	}{
		"not supported":        {metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "NotSupported"}, true},
		"not ready for others": {metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "ForeignRule"}, false},
		"ready":                {metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Steered"}, false},
		"another condition":    {metav1.Condition{Type: "Healthy", Status: metav1.ConditionFalse, Reason: "NotSupported"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := NotServed([]metav1.Condition{c.condition}); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
	if NotServed(nil) {
		t.Error("nothing said is not a refusal")
	}
}
