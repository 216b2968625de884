// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"encoding/json"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/member"
)

// limits are those of an autoscaler. Without a minimum it takes one replica for it.
type limits struct {
	Min *int32 `json:"minReplicas,omitempty"`
	Max int32  `json:"maxReplicas"`
}

func (l limits) String() string { return fmt.Sprintf("%d to %d", ptr.Deref(l.Min, 1), l.Max) }

func (l limits) equal(o limits) bool { return ptr.Equal(l.Min, o.Min) && l.Max == o.Max }

// lent is what stands on an autoscaler while its limits are lowered: for which workload, what they were, and what was
// written in their place. A limit that is not as written any more was changed by its owner, and is his.
type lent struct {
	Workload string `json:"workload"`
	Own      limits `json:"own"`
	Wrote    limits `json:"wrote"`
}

// lower is what the limits become where a workload shall have n replicas, and what is kept of them; lent is what was kept
// before, nil: nothing. A minimum of none becomes one: an autoscaler that may go to none is not switched off by none.
func lower(workload string, live limits, before *lent, n int32) (limits, lent) {
	kept := lent{Workload: workload, Own: live, Wrote: live}
	if before != nil {
		kept = *before
	}
	want := live
	if live.Max == kept.Wrote.Max {
		want.Max = min(kept.Own.Max, max(1, n))
	}
	if ptr.Equal(live.Min, kept.Wrote.Min) {
		want.Min = kept.Own.Min
		if want.Min != nil {
			want.Min = new(max(1, min(*want.Min, max(1, n), want.Max)))
		}
		kept.Wrote.Min = want.Min
	}
	if live.Max == kept.Wrote.Max {
		want.Max = max(want.Max, ptr.Deref(want.Min, 1))
		kept.Wrote.Max = want.Max
	}
	return want, kept
}

// restored is what the limits become when they are given back. What their owner has changed stays, and what comes back
// gives way to it where both do not fit together.
func restored(live limits, kept lent) limits {
	want := live
	if live.Max == kept.Wrote.Max {
		want.Max = kept.Own.Max
	}
	if !ptr.Equal(live.Min, kept.Wrote.Min) {
		want.Max = max(want.Max, ptr.Deref(live.Min, 1))
		return want
	}
	want.Min = kept.Own.Min
	if want.Min != nil {
		want.Min = new(min(*want.Min, want.Max))
	}
	return want
}

// scaler is an autoscaler as it was read in a member.
type scaler struct {
	object *unstructured.Unstructured
	limits limits
	kept   *lent  // what is kept of its limits for this workload; nil: nothing
	lent   bool   // they are lowered for another workload, which has to give them back first
	keeper string // who keeps its limits, such as ScaledObject web; empty: its owner, by hand or by manifest
	aims   bool   // it stands on the workload; else it only did when its limits were lowered
}

// scalersOf are the autoscalers that stand on a workload, or have limits that were lowered for it, the former first.
func scalersOf(all []unstructured.Unstructured, workload string) []*scaler {
	var aim, other []*scaler
	for i := range all {
		var h autoscalingv2.HorizontalPodAutoscaler
		if recode(all[i].Object, &h) != nil {
			continue
		}
		s := &scaler{object: &all[i], limits: limits{h.Spec.MinReplicas, h.Spec.MaxReplicas}}
		s.aims = h.Spec.ScaleTargetRef.Kind == deployments.kind && h.Spec.ScaleTargetRef.Name == workload
		if kept := lentBy(&all[i]); kept != nil && kept.Workload == workload {
			s.kept = kept
		} else {
			s.lent = kept != nil
		}
		for _, owner := range h.OwnerReferences {
			if owner.Kind == "ScaledObject" {
				s.keeper = owner.Kind + " " + owner.Name
			}
		}
		switch {
		case s.aims:
			aim = append(aim, s)
		case s.kept != nil:
			other = append(other, s)
		}
	}
	return append(aim, other...)
}

// lentBy is what is kept of an autoscaler's limits; nil: nothing, or nothing that can be read.
func lentBy(u *unstructured.Unstructured) *lent {
	text := u.GetAnnotations()[member.AnnotationLimits]
	var out lent
	if text == "" || json.Unmarshal([]byte(text), &out) != nil || out.Own.Max < 1 || ptr.Deref(out.Own.Min, 0) < 0 {
		return nil
	}
	return &out
}

// name is how people know what sets the replicas.
func (s *scaler) name() string {
	if s.keeper != "" {
		return s.keeper
	}
	return "HorizontalPodAutoscaler " + s.object.GetName()
}

// off says whether an autoscaler does nothing where a workload asks for no replicas. One that may go to none comes back
// from there.
func (s *scaler) off() bool { return s.keeper == "" && (s.limits.Min == nil || *s.limits.Min > 0) }

// state is what the autoscaler does with the replicas of a workload that asks for so many.
func (s *scaler) state(applied int32) v1alpha1.AutoscalerState {
	switch {
	case s.keeper != "":
		return v1alpha1.AutoscalerOperated
	case s.kept != nil:
		return v1alpha1.AutoscalerHeld
	case applied == 0 && s.off():
		return v1alpha1.AutoscalerOff
	}
	return v1alpha1.AutoscalerOwns
}

// amendment is the one write by which limits become others, and what is kept of them stands or goes.
func (s *scaler) amendment(want limits, kept *lent) (member.Amendment, error) {
	out := member.Amendment{
		Labels:      map[string]string{member.LabelLimits: ""},
		Annotations: map[string]string{member.AnnotationLimits: ""}, Spec: map[string]any{},
	}
	if kept != nil {
		text, err := json.Marshal(kept)
		if err != nil {
			return out, fmt.Errorf("encode the limits of %s: %w", s.name(), err)
		}
		out.Labels[member.LabelLimits], out.Annotations[member.AnnotationLimits] = member.LabelLimitsValue, string(text)
	}
	if want.Max != s.limits.Max {
		out.Spec["maxReplicas"] = want.Max
	}
	switch {
	case ptr.Equal(want.Min, s.limits.Min):
	case want.Min == nil:
		out.Spec["minReplicas"] = nil
	default:
		out.Spec["minReplicas"] = *want.Min
	}
	return out, nil
}
