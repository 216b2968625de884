// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

func budgetOf(name string, spec policyv1.PodDisruptionBudgetSpec) *policyv1.PodDisruptionBudget {
	spec.Selector = &metav1.LabelSelector{}
	return &policyv1.PodDisruptionBudget{ObjectMeta: meta("demo", name), Spec: spec}
}

func TestBudgetsOverTheBoundLetNoPodGo(t *testing.T) {
	o := objects{}
	o.services = append(o.services, globalService("demo", "echo"))
	o.pods = append(o.pods, appPod("demo", "echo", "echo-1"))
	for i := range maxBudgets + 2 {
		none := intstr.FromInt32(0)
		o.budgets = append(o.budgets, budgetOf(fmt.Sprintf("b%02d", i), policyv1.PodDisruptionBudgetSpec{MinAvailable: &none}))
	}
	x := newIndex(o)
	facts := newPicture(x, newRuleBook(x), 1).services[types.NamespacedName{Namespace: "demo", Name: "echo"}]
	got := facts.GetBudgets()
	if last := got[len(got)-1]; len(got) != maxBudgets || last.GetName() != "3 more" || !last.GetUnavailable() || last.GetAmount() != 0 {
		t.Errorf("%d budgets, the last of them %v", len(got), got[len(got)-1])
	}
	if err := hub(t).SetService(facts); err != nil {
		t.Errorf("the hub refuses them: %v", err)
	}
}

func TestWhateverABudgetAsksForTheHubTakesIt(t *testing.T) {
	client := hub(t)
	rapid.Check(t, func(r *rapid.T) {
		amount := func(what string) *intstr.IntOrString {
			if rapid.Bool().Draw(r, what+" is there") {
				return nil
			}
			v := intstr.IntOrString{
				Type: intstr.Type(rapid.Int64Range(0, 1).Draw(r, what+" type")), IntVal: rapid.Int32().Draw(r, what),
				StrVal: rapid.OneOf(rapid.StringN(0, 20, -1), rapid.StringMatching(`-?[0-9]{1,12}%`)).Draw(r, what+" text"),
			}
			return &v
		}
		o := objects{}
		o.services = append(o.services, globalService("demo", "echo"))
		o.pods = append(o.pods, appPod("demo", "echo", "echo-1"))
		for i := range rapid.IntRange(0, 20).Draw(r, "budgets") {
			spec := policyv1.PodDisruptionBudgetSpec{MinAvailable: amount("min"), MaxUnavailable: amount("max")}
			o.budgets = append(o.budgets, budgetOf(fmt.Sprint("b", i), spec))
		}
		x := newIndex(o)
		facts := newPicture(x, newRuleBook(x), 1).services[types.NamespacedName{Namespace: "demo", Name: "echo"}]
		if err := client.SetService(facts); err != nil {
			r.Error(err)
		}
	})
}
