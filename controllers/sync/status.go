// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

func same(a, b v1alpha1.ResourceBindingStatus) bool { return equality.Semantic.DeepEqual(a, b) }

// ownPart is what of a binding's status this controller wrote last.
func ownPart(b *v1alpha1.ResourceBinding) v1alpha1.ResourceBindingStatus {
	s := b.Status.DeepCopy()
	out := v1alpha1.ResourceBindingStatus{ObservedGeneration: s.ObservedGeneration, Clusters: s.Clusters}
	if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionPropagated); c != nil {
		out.Conditions = []metav1.Condition{*c}
	}
	return out
}

func rowOf(b *v1alpha1.ResourceBinding, cluster string) *v1alpha1.MemberReplicas {
	for i := range b.Status.Clusters {
		if row := &b.Status.Clusters[i]; row.Name == cluster {
			return row
		}
	}
	return nil
}

// deploymentStatus says what members hold, and when to look again.
func deploymentStatus(in *deploymentInput, names []string, outcomes []outcome, now time.Time) (v1alpha1.ResourceBindingStatus, time.Duration) {
	b := in.binding
	status := ownPart(b)
	status.ObservedGeneration, status.Clusters = b.Generation, nil
	again := lookAgain
	moving := meta.IsStatusConditionFalse(b.Status.Conditions, v1alpha1.ConditionTrafficShifted)
	var copies []v1alpha1.MemberCopy
	var of []string
	for i, name := range names {
		o := &outcomes[i]
		plan, decision := in.plan(name)
		if o.gone && plan == 0 && decision == 0 {
			continue
		}
		row := v1alpha1.MemberReplicas{Name: name}
		if old := rowOf(b, name); old != nil {
			row = *old.DeepCopy()
		}
		row.Wanted = decision
		say(&row.MemberCopy, o.copy.Sync, o.copy.Reason, o.copy.Message)
		switch {
		case o.gone:
			say(&row.MemberCopy, v1alpha1.SyncPending, ReasonNotJoined, "no Cluster of this name is registered")
			if in.clusters[name] != nil {
				say(&row.MemberCopy, v1alpha1.SyncSynced, "", "")
				factsOf(&row, nil)
				row.Autoscaler = nil // none stands on what is not there
				seen(&row.MemberCopy, now)
			}
		case o.seen:
			live := o.live
			if row.Sync == v1alpha1.SyncConflict {
				live = nil // somebody else's replicas are none of this workload's.
			}
			factsOf(&row, live)
			row.Pending, row.Autoscaler = min(o.pending, row.Applied), o.scaler
			seen(&row.MemberCopy, now)
		default:
			row.Sight = v1alpha1.SightBlind
		}
		again = min(again, pace(&row, plan, moving))
		status.Clusters = append(status.Clusters, row)
		copies, of = append(copies, row.MemberCopy), append(of, name)
	}
	c := metav1.Condition{Type: v1alpha1.ConditionPropagated, ObservedGeneration: b.Generation}
	c.Status, c.Reason, c.Message = propagated(copies, of)
	c.Message = hub.Clip(c.Message, v1alpha1.MaxMessage)
	meta.SetStatusCondition(&status.Conditions, c)
	return status, again
}

// pace is when to look at a member's copy again; moving: replicas are on their way somewhere.
func pace(row *v1alpha1.MemberReplicas, plan int32, moving bool) time.Duration {
	switch {
	case row.Autoscaler != nil && row.Autoscaler.State == v1alpha1.AutoscalerHeld && row.Sync == v1alpha1.SyncPending:
		return lookMoving // its limits have just been lowered, or come back
	case row.Reason == v1alpha1.ReasonHPA && moving:
		return lookWaiting // it may be what the move waits for
	case row.Reason == v1alpha1.ReasonHPA:
		return lookAgain
	case row.Sync == v1alpha1.SyncFailed || row.Sync == v1alpha1.SyncConflict || row.Sight == v1alpha1.SightBlind:
		return lookFailing
	case row.Sync != v1alpha1.SyncSynced:
		return lookMoving
	case row.Applied == plan && row.Ready == plan && row.Rollout != v1alpha1.RolloutProgressing:
		return lookAgain
	case moving:
		return lookMoving
	}
	return lookWaiting
}

// tell makes an event of each turn of a condition.
func tell(recorder events.EventRecorder, about client.Object, before, now []metav1.Condition) {
	for _, n := range now {
		old := meta.FindStatusCondition(before, n.Type)
		if old != nil && old.Status == n.Status && old.Reason == n.Reason || old == nil && n.Reason == "Pending" {
			continue
		}
		kind := corev1.EventTypeNormal
		if n.Status != metav1.ConditionTrue && n.Reason != "Pending" {
			kind = corev1.EventTypeWarning
		}
		recorder.Eventf(about, nil, kind, n.Reason, n.Type, "%s", n.Message)
	}
}
