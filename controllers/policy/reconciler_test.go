// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
)

func policyOf(change func(*v1alpha1.TrafficPolicySpec)) *v1alpha1.TrafficPolicy {
	p := &v1alpha1.TrafficPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "p", Generation: 3}, Spec: v1alpha1.DefaultTrafficPolicySpec()}
	change(&p.Spec)
	return p
}

func reconcile(t *testing.T, c client.Client) error {
	t.Helper()
	_, err := (&Reconciler{Client: c}).Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "demo", Name: "p"}})
	return err
}

func TestAPolicyIsToldWhetherItIsServed(t *testing.T) {
	cases := map[string]struct {
		change func(*v1alpha1.TrafficPolicySpec)
		status metav1.ConditionStatus
		reason string
		says   []string
	}{
		"served":          {func(*v1alpha1.TrafficPolicySpec) {}, metav1.ConditionTrue, "Served", nil},
		"another pace":    {func(s *v1alpha1.TrafficPolicySpec) { s.Pace.MaxStepPercent = 10 }, metav1.ConditionTrue, "Served", nil},
		"a static split":  {func(s *v1alpha1.TrafficPolicySpec) { s.Mode = v1alpha1.ModeStatic }, metav1.ConditionFalse, "NotSupported", []string{"spec.mode: Static"}},
		"no subsets":      {func(s *v1alpha1.TrafficPolicySpec) { s.Steering = v1alpha1.SteeringOnDemand }, metav1.ConditionFalse, "NotSupported", []string{"spec.steering: OnDemand"}},
		"manual failback": {func(s *v1alpha1.TrafficPolicySpec) { s.Failback = v1alpha1.FailbackManual }, metav1.ConditionFalse, "NotSupported", []string{"spec.failback: Manual"}},
		"all that is wish": {func(s *v1alpha1.TrafficPolicySpec) {
			s.Mode, s.OnFailure = v1alpha1.ModeLocality, v1alpha1.FailureInvertWeights
		}, metav1.ConditionFalse, "NotSupported", []string{"spec.mode: Locality", "spec.onFailure: InvertWeights", "nothing is written"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := policyOf(c.change)
			hub := fleettest.Hub(t, interceptor.Funcs{}, p)
			if err := reconcile(t, hub); err != nil {
				t.Fatal(err)
			}
			if err := hub.Get(t.Context(), client.ObjectKeyFromObject(p), p); err != nil {
				t.Fatal(err)
			}
			got := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
			if got == nil || got.Status != c.status || got.Reason != c.reason || got.ObservedGeneration != 3 || p.Status.ObservedGeneration != 3 {
				t.Fatalf("got %+v", p.Status)
			}
			for _, s := range c.says {
				if !strings.Contains(got.Message, s) {
					t.Errorf("%q does not say %q", got.Message, s)
				}
			}
		})
	}
}

func TestAnAnswerThatStandsIsNotWrittenAgain(t *testing.T) {
	writes := 0
	hub := fleettest.Hub(t, interceptor.Funcs{SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
		writes++
		return c.SubResource(sub).Apply(ctx, o, opts...)
	}}, policyOf(func(*v1alpha1.TrafficPolicySpec) {}))
	for range 3 {
		if err := reconcile(t, hub); err != nil {
			t.Fatal(err)
		}
	}
	if writes != 1 {
		t.Errorf("wrote %d times", writes)
	}
}

func TestAPolicyThatIsGoneIsNoError(t *testing.T) {
	if err := reconcile(t, fleettest.Hub(t, interceptor.Funcs{})); err != nil {
		t.Error(err)
	}
}

func TestAnAnswerThatCannotBeWrittenNamesThePolicy(t *testing.T) {
	down := errors.New("down")
	hub := fleettest.Hub(t, interceptor.Funcs{SubResourceApply: func(context.Context, client.Client, string, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
		return down
	}}, policyOf(func(*v1alpha1.TrafficPolicySpec) {}))
	if err := reconcile(t, hub); !errors.Is(err, down) || !strings.Contains(err.Error(), "demo/p") {
		t.Errorf("got %v", err)
	}
}
