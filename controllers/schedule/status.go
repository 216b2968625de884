// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

// result is what a pass makes of one workload.
type result struct {
	clusters []v1alpha1.BindingCluster
	plan     []v1alpha1.ClusterReplicas
	lowered  []string
	status   v1alpha1.ResourceBindingStatus // the part that this controller owns
	record   *v1alpha1.DecisionRecord       // what is new in the history; nil: nothing
}

// owned are the conditions that this controller writes.
var owned = []string{v1alpha1.ConditionScheduled, v1alpha1.ConditionTrafficShifted}

// ownPart is what of a binding's status this controller wrote last.
func ownPart(b *v1alpha1.ResourceBinding) v1alpha1.ResourceBindingStatus {
	s := b.Status.DeepCopy()
	out := v1alpha1.ResourceBindingStatus{Unplaced: s.Unplaced, History: s.History, Shift: s.Shift}
	for _, c := range s.Conditions {
		if slices.Contains(owned, c.Type) {
			out.Conditions = append(out.Conditions, c)
		}
	}
	return out
}

// resultOf sums up one workload: a decided one with its answer, another with nil.
func resultOf(e *entry, a *answer, m move, now time.Time) result {
	b := e.binding
	out := result{clusters: b.Spec.Clusters, plan: m.plan, lowered: m.lowered, status: ownPart(b)}
	if a != nil {
		record := recordOf(a, now)
		if a.why.redress || doubtful(&record) || news(b.Status.History, &record) {
			out.record = &record
			out.status.History = remembered(b.Status.History, record)
		}
		out.status.Unplaced = unplacedOf(&a.decision)
		out.clusters = a.clusters(b.Spec.Clusters)
	}
	set := func(kind string, value metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&out.status.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: reason, Message: hub.Clip(message, v1alpha1.MaxMessage), ObservedGeneration: b.Generation,
		})
	}
	if n := out.status.Unplaced; n > 0 {
		set(v1alpha1.ConditionScheduled, metav1.ConditionFalse, ReasonUnplaced, leftOver(out.status.History, n, b.Spec.Replicas))
	} else {
		set(v1alpha1.ConditionScheduled, metav1.ConditionTrue, "Scheduled", "every replica has a member")
	}
	moved(&out.status, m, set, now)
	return out
}

// ReasonUnplaced says that replicas fit nowhere.
const ReasonUnplaced = "Unplaced"

// moved says how far the plan is.
func moved(status *v1alpha1.ResourceBindingStatus, m move, set func(string, metav1.ConditionStatus, string, string), now time.Time) {
	if m.step == "" {
		set(v1alpha1.ConditionTrafficShifted, metav1.ConditionTrue, "Settled", "the plan is the decision")
		status.Shift = v1alpha1.ShiftStatus{}
		return
	}
	message := "replicas are moved: " + m.step
	if len(m.blocked) > 0 {
		message = m.blocked[0].Message
	}
	set(v1alpha1.ConditionTrafficShifted, metav1.ConditionFalse, "Moving", message)
	since := status.Shift.Since
	if status.Shift.Step != m.step || since == nil {
		t := hub.Time(now)
		since = &t
	}
	status.Shift = v1alpha1.ShiftStatus{Step: m.step, Since: since, Blocked: m.blocked, Notices: m.notices}
}

// clusters are those decided on; where the division is the same, with the views that it was made on at first.
func (a *answer) clusters(before []v1alpha1.BindingCluster) []v1alpha1.BindingCluster {
	now := decided(a)
	if sameDivision(before, now) {
		return before
	}
	return now
}
