// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/sched/adapter"
)

// input is everything that one look at a federated workload rests on.
type input struct {
	workload *v1alpha1.FederatedDeployment
	binding  *v1alpha1.ResourceBinding // nil: there is none yet
}

type setter func(kind string, value metav1.ConditionStatus, reason, message string)

func into(conditions *[]metav1.Condition, generation int64) setter {
	return func(kind string, value metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(conditions, metav1.Condition{
			Type: kind, Status: value, Reason: reason, Message: hub.Clip(message, v1alpha1.MaxMessage), ObservedGeneration: generation,
		})
	}
}

// sum is the status of a federated workload.
func sum(in *input) v1alpha1.FederatedDeploymentStatus {
	d := in.workload
	out := v1alpha1.FederatedDeploymentStatus{ObservedGeneration: d.Generation, Conditions: d.Status.DeepCopy().Conditions}
	set := into(&out.Conditions, d.Generation)
	if in.binding != nil {
		b := in.binding.DeepCopy()
		out.Unplaced, out.Clusters = b.Status.Unplaced, b.Status.Clusters
		for _, c := range out.Clusters {
			out.Replicas += c.Applied
			out.ReadyReplicas += c.Ready
			out.AvailableReplicas += c.Available
			out.UpdatedReplicas += c.Updated
		}
	}
	for _, kind := range []string{v1alpha1.ConditionScheduled, v1alpha1.ConditionPropagated} {
		if c := conditionOf(in.binding, kind); c != nil {
			set(kind, c.Status, c.Reason, c.Message)
		} else {
			set(kind, metav1.ConditionUnknown, "Pending", "nothing is decided yet")
		}
	}
	if reason, message := wrong(d); reason != "" {
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
		return out
	}
	value, reason, message := ready(in)
	set(v1alpha1.ConditionReady, value, reason, message)
	return out
}

// wrong says what of a workload cannot be read; empty: nothing.
func wrong(d *v1alpha1.FederatedDeployment) (reason, message string) {
	if _, errs := d.Deployment(); len(errs) > 0 {
		return v1alpha1.ReasonInvalidTemplate, "nothing was changed: " + errs.ToAggregate().Error()
	}
	wish, errs := adapter.Wish(d, nil)
	if len(errs) == 0 {
		request := adapter.Request(&wish)
		errs = adapter.Refine(&request, d)
	}
	if len(errs) > 0 {
		return v1alpha1.ReasonInvalidOverride, "nothing was changed where it is for: " + errs.ToAggregate().Error()
	}
	return "", ""
}

func conditionOf(b *v1alpha1.ResourceBinding, kind string) *metav1.Condition {
	if b == nil {
		return nil
	}
	return meta.FindStatusCondition(b.Status.Conditions, kind)
}

// ready says whether what was wanted runs: the first condition that is not as it should be decides, then the replicas.
func ready(in *input) (metav1.ConditionStatus, string, string) {
	b := in.binding
	if b == nil || b.Spec.WishGeneration != in.workload.Generation {
		return metav1.ConditionFalse, "Progressing", "the wish has not been taken up yet"
	}
	for _, kind := range []string{v1alpha1.ConditionPropagated, v1alpha1.ConditionScheduled} {
		c := conditionOf(b, kind)
		switch {
		case c == nil:
			return metav1.ConditionFalse, "Progressing", "nothing is decided yet"
		case c.Status != metav1.ConditionTrue:
			return c.Status, c.Reason, c.Message
		}
	}
	if c := conditionOf(b, v1alpha1.ConditionTrafficShifted); c != nil && c.Status != metav1.ConditionTrue {
		return metav1.ConditionFalse, c.Reason, c.Message
	}
	return counted(b)
}

// counted compares what runs with what is wanted.
func counted(b *v1alpha1.ResourceBinding) (metav1.ConditionStatus, string, string) {
	var available, updated int32
	var short []string
	for _, c := range b.Status.Clusters {
		available += c.Available
		updated += c.Updated
		if c.Available < c.Wanted || c.Updated < c.Wanted {
			short = append(short, fmt.Sprintf("%s %d/%d", c.Name, min(c.Available, c.Updated), c.Wanted))
		}
		if c.Rollout == v1alpha1.RolloutStuck {
			return metav1.ConditionFalse, "RolloutStuck", "the rollout in " + c.Name + " is past its deadline: look at its pods there"
		}
	}
	want := b.Spec.Replicas
	if available < want || updated < want {
		return metav1.ConditionFalse, "Progressing", fmt.Sprintf("%d of %s available and of the newest template: %s",
			min(available, updated, want), hub.Count(want, "replica"), strings.Join(short[:min(len(short), 5)], ", "))
	}
	return metav1.ConditionTrue, "Available", fmt.Sprintf("%s available in %s", hub.Count(available, "replica"), hub.Count(len(b.Status.Clusters), "member"))
}
