// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/controllers/tracing"
)

// statusOf says how far the drain is. It reads nothing but its input.
func statusOf(in *input) v1alpha1.ClusterDrainStatus {
	d := in.drain.DeepCopy()
	v := goalOf(d, in.exists, in.drains, in.services)
	if v.started {
		now := hub.Time(in.now)
		d.Status.Goal, d.Status.StartedAt, d.Status.FinishedAt, d.Status.SafeToPowerOff = v.goal, &now, nil, nil
		d.Status.TraceID = tracing.ID(d)
		meta.RemoveStatusCondition(&d.Status.Conditions, v1alpha1.ConditionDrained)
	}
	status := *d.Status.DeepCopy()
	status.ObservedGeneration = d.Generation
	status.Services = nil
	done, skipped := 0, 0
	for i := range in.services {
		row, reached := line(d, &in.services[i])
		if reached {
			done++
		}
		if row.Step == stepSkipped {
			skipped++
		}
		status.Services = append(status.Services, row)
	}
	total := len(in.services)
	if v.goal == v1alpha1.GoalDrain {
		for _, key := range in.notTakenUp() {
			status.Services = append(status.Services, rowNotTakenUp(key, d.Spec.ClusterName))
			total++
		}
	}
	status.Services = status.Services[:min(len(status.Services), v1alpha1.MaxDrainedServices)]
	if v.goal == "" {
		status.Services, status.Progress = nil, ""
	} else {
		status.Progress = fmt.Sprintf("%d/%d", done, total)
	}
	all := v.goal != "" && done+skipped == total
	judge(in, d, v, all, skipped, &status)
	return status
}

// judge fills conditions, safety and the end.
func judge(in *input, d *v1alpha1.ClusterDrain, v verdict, all bool, skipped int, status *v1alpha1.ClusterDrainStatus) {
	set := func(kind string, value metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: reason, Message: hub.Clip(message, v1alpha1.MaxMessage), ObservedGeneration: d.Generation,
		})
	}
	cluster := d.Spec.ClusterName
	if v.reason != "" {
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, v.reason, v.message)
		set(v1alpha1.ConditionDrained, metav1.ConditionFalse, v.reason, "nothing was moved")
		if all && v.goal != v1alpha1.GoalDrain {
			end(in, status) // the way back that was under way when the drain was refused
		}
		return
	}
	switch v.goal {
	case v1alpha1.GoalDrain:
		judgeDrain(in, d, all, skipped, status, set)
	case v1alpha1.GoalUndrain, v1alpha1.GoalAbort:
		if !all {
			set(v1alpha1.ConditionReady, metav1.ConditionTrue, string(v.goal), "traffic returns to "+cluster)
			set(v1alpha1.ConditionDrained, metav1.ConditionFalse, string(v.goal), "traffic returns to "+cluster)
			return
		}
		end(in, status)
		fallthrough
	default:
		set(v1alpha1.ConditionReady, metav1.ConditionTrue, "InService", cluster+" serves")
		set(v1alpha1.ConditionTrafficShifted, metav1.ConditionFalse, "InService", cluster+" serves")
		set(v1alpha1.ConditionDrained, metav1.ConditionFalse, "InService", cluster+" serves")
	}
}

// end says that the cluster is back in service.
func end(in *input, status *v1alpha1.ClusterDrainStatus) {
	finished := hub.Time(in.now)
	status.Goal, status.FinishedAt, status.SafeToPowerOff = "", &finished, nil
	status.UnmeshedCallers, status.UnownedWorkloads = nil, nil
}

func judgeDrain(in *input, d *v1alpha1.ClusterDrain, all bool, skipped int, status *v1alpha1.ClusterDrainStatus,
	set func(string, metav1.ConditionStatus, string, string),
) {
	cluster := d.Spec.ClusterName
	set(v1alpha1.ConditionReady, metav1.ConditionTrue, "Draining", "traffic leaves "+cluster)
	status.UnownedWorkloads = unowned(cluster, in.services)
	if !all {
		no := false
		status.SafeToPowerOff, status.FinishedAt = &no, nil
		set(v1alpha1.ConditionTrafficShifted, metav1.ConditionFalse, "Moving", status.Progress+" services are out of "+cluster)
		set(v1alpha1.ConditionDrained, metav1.ConditionFalse, "Moving", waits(status))
		return
	}
	if !in.told() {
		if !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionDrained) {
			no := false
			status.SafeToPowerOff, status.FinishedAt = &no, nil
			set(v1alpha1.ConditionDrained, metav1.ConditionFalse, "NotHeard", "the agent of "+cluster+
				" is not heard: whether requests still arrive there, and which Services it has, is not known; look at its agent (weir-system in "+cluster+") and at its link to the hub")
		}
		// Nothing new can be known of a cluster that is switched off, which is what it was drained for.
		return
	}
	if status.FinishedAt == nil {
		finished := hub.Time(in.now)
		status.FinishedAt = &finished
	}
	set(v1alpha1.ConditionTrafficShifted, metav1.ConditionTrue, "Shifted", "no service sends traffic to "+cluster)
	safe := safetyOf(in.snapshot, in.services, in.now)
	status.UnmeshedCallers = hub.ClipAll(safe.callers[:min(len(safe.callers), v1alpha1.MaxUnmeshedCallers)], v1alpha1.MaxMessage)
	off := safe.safe() && skipped == 0
	status.SafeToPowerOff = &off
	switch {
	case skipped > 0:
		set(v1alpha1.ConditionDrained, metav1.ConditionFalse, "LastCopy", fmt.Sprintf("left out of the drain: %s, of which %s has the last ready copies", hub.Count(skipped, "service"), cluster))
	case !safe.safe():
		set(v1alpha1.ConditionDrained, metav1.ConditionTrue, "StillCalled", "not safe to power off: "+strings.Join(append(safe.callers, safe.busy...), "; "))
	default:
		set(v1alpha1.ConditionDrained, metav1.ConditionTrue, "SafeToPowerOff", cluster+" may be switched off")
	}
}

// waits says what the first service waits for.
func waits(status *v1alpha1.ClusterDrainStatus) string {
	for _, s := range status.Services {
		for _, b := range s.Blocked {
			if b.Message != "" {
				return s.Namespace + "/" + s.Name + ": " + b.Message
			}
		}
	}
	return status.Progress + " services are drained"
}
