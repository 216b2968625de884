// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

// seenGrain is how old seenAt may be while a member is seen: not every look is worth a write.
const seenGrain = time.Minute

var (
	scalers = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	pods    = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// factsOf is what a member's Deployment says of itself.
func factsOf(row *v1alpha1.MemberReplicas, live *unstructured.Unstructured) {
	row.Applied, row.Ready, row.Available, row.Updated, row.Pending, row.Rollout = 0, 0, 0, 0, 0, ""
	if live == nil {
		return
	}
	var d appsv1.Deployment
	if recode(live.Object, &d) != nil {
		return // not of what an API server serves.
	}
	row.Applied = replicasOf(live)
	row.Ready, row.Available, row.Updated = bounded(d.Status.ReadyReplicas), bounded(d.Status.AvailableReplicas), bounded(d.Status.UpdatedReplicas)
	row.Rollout = rolloutOf(&d)
}

// applied is how many replicas a copy asks for; none where there is no copy.
func applied(live *unstructured.Unstructured) int32 {
	if live == nil {
		return 0
	}
	return replicasOf(live)
}

// rolloutOf says how far a Deployment's newest template is carried out. More or fewer replicas of it are no rollout.
func rolloutOf(d *appsv1.Deployment) v1alpha1.RolloutState {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded" {
			return v1alpha1.RolloutStuck
		}
	}
	if d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas < d.Status.Replicas {
		return v1alpha1.RolloutProgressing
	}
	return v1alpha1.RolloutComplete
}

// pendingOf is how many of a Deployment's pods have no node.
func pendingOf(all []unstructured.Unstructured) int32 {
	var n int32
	for i := range all {
		node, _, _ := unstructured.NestedString(all[i].Object, "spec", "nodeName")
		if node == "" && all[i].GetDeletionTimestamp() == nil {
			n++
		}
	}
	return n
}

// selectorOf is the selector of a Deployment's pods as a list is asked by it; empty: none that can be asked by.
func selectorOf(live *unstructured.Unstructured) string {
	raw, there := at(live.Object, []string{"spec", "selector"})
	var s metav1.LabelSelector
	if !there || recode(raw, &s) != nil {
		return ""
	}
	selector, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil || selector.Empty() {
		return ""
	}
	return selector.String()
}

// seen notes when a member's copy was read.
func seen(c *v1alpha1.MemberCopy, now time.Time) {
	if c.Sight != v1alpha1.SightSeen || c.SeenAt == nil || now.Sub(c.SeenAt.Time) > seenGrain {
		t := hub.Time(now)
		c.SeenAt = &t
	}
	c.Sight = v1alpha1.SightSeen
}

// say sets what there is to say about a copy.
func say(c *v1alpha1.MemberCopy, sync v1alpha1.SyncState, reason, message string) {
	c.Sync, c.Reason, c.Message = sync, reason, hub.Clip(message, v1alpha1.MaxMessage)
}
