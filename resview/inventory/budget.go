// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/weir-io/weir/resview/pb"
)

const (
	// maxBudgets is how many budgets are told of one Service. Kubernetes itself evicts no pod that has two.
	maxBudgets = 16
	// maxAmount bounds what a budget may ask for: more pods than any cluster runs.
	maxAmount = 1_000_000
)

// budget is a PodDisruptionBudget that selects something.
type budget struct {
	name     string
	selector labels.Selector
	amount   *pb.DisruptionBudget // without a name, and without other pods
}

// indexBudgets reads the budgets of the namespaces in which there are global Services.
func (x *index) indexBudgets() {
	global := map[string]bool{}
	for _, s := range x.services {
		global[s.Namespace] = global[s.Namespace] || isGlobal(s)
	}
	for _, b := range slices.SortedFunc(slices.Values(x.objects.budgets), byName) {
		if !global[b.Namespace] {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		amount := amountOf(&b.Spec)
		if err != nil || b.Spec.Selector == nil || amount == nil {
			continue // It says nothing, as it does to Kubernetes.
		}
		x.budgets[b.Namespace] = append(x.budgets[b.Namespace], budget{b.Name, selector, amount})
	}
}

// amountOf is what a budget asks for. Nil: nothing.
func amountOf(spec *policyv1.PodDisruptionBudgetSpec) *pb.DisruptionBudget {
	value, unavailable := spec.MinAvailable, false
	if value == nil {
		value, unavailable = spec.MaxUnavailable, true
	}
	if value == nil {
		return nil
	}
	if value.Type == intstr.Int {
		return &pb.DisruptionBudget{Amount: min(max(value.IntVal, 0), maxAmount), Unavailable: unavailable}
	}
	percent, err := strconv.ParseInt(strings.TrimSuffix(value.StrVal, "%"), 10, 32)
	if err != nil || !strings.HasSuffix(value.StrVal, "%") {
		return &pb.DisruptionBudget{Unavailable: true} // What nobody can read lets no pod go.
	}
	return &pb.DisruptionBudget{Amount: int32(min(max(percent, 0), 100)), Percent: true, Unavailable: unavailable}
}

// budgetsOf returns the budgets that select pods of a Service, or would select those that its workloads make, by name.
func (x *index) budgetsOf(s *corev1.Service, behind []*corev1.Pod) []*pb.DisruptionBudget {
	if len(x.budgets[s.Namespace]) == 0 {
		return nil
	}
	own := make(map[types.UID]bool, len(behind))
	for _, p := range behind {
		own[p.UID] = true
	}
	var out []*pb.DisruptionBudget
	for _, b := range x.budgets[s.Namespace] {
		told := &pb.DisruptionBudget{Name: b.name, Amount: b.amount.GetAmount(), Percent: b.amount.GetPercent(), Unavailable: b.amount.GetUnavailable()}
		concerns := x.makes(s, b.selector)
		for _, p := range x.pods[s.Namespace] {
			switch {
			case isDone(p) || !b.selector.Matches(labels.Set(p.Labels)):
			case own[p.UID]:
				concerns = true
			case p.DeletionTimestamp == nil:
				told.OtherPods++
				if isReady(p) {
					told.OtherReady++
				}
			}
		}
		if concerns {
			out = append(out, told)
		}
	}
	return boundBudgets(out)
}

// makes says whether a workload makes pods for a Service that the selector selects.
func (x *index) makes(s *corev1.Service, selector labels.Selector) bool {
	for _, w := range x.workloads[s.Namespace] {
		if selects(s.Spec.Selector, w.labels) && selector.Matches(labels.Set(w.labels)) {
			return true
		}
	}
	return false
}

// boundBudgets puts one that lets no pod go in the place of those over the bound: they are not known, and a longer list
// would be refused with all that is said of the Service.
func boundBudgets(all []*pb.DisruptionBudget) []*pb.DisruptionBudget {
	if len(all) <= maxBudgets {
		return all
	}
	rest := &pb.DisruptionBudget{Name: fmt.Sprintf("%d more", len(all)-maxBudgets+1), Unavailable: true}
	return append(all[:maxBudgets-1:maxBudgets-1], rest)
}
