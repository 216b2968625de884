// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package binding

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/sched/adapter"
)

// wishOf is the wish part of the workload's binding.
func wishOf(in *input) (v1alpha1.ResourceBindingSpec, field.ErrorList) {
	var preference *v1alpha1.ReplicaPreference
	if p := adapter.Preferred(in.workload, in.preferences); p != nil {
		preference = &p.Spec.ReplicaPreference
	}
	return adapter.Wish(in.workload, preference)
}

// stands says whether a binding holds the wish and belongs to the workload.
func stands(b *v1alpha1.ResourceBinding, wish *v1alpha1.ResourceBindingSpec, owner *metav1.OwnerReference) bool {
	if b == nil || !slices.ContainsFunc(b.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == owner.UID }) {
		return false
	}
	has := b.Spec
	has.Clusters, has.Plan = nil, nil
	return equality.Semantic.DeepEqual(&has, wish)
}

// answer is the status of a preference: whether it is the one in force.
func answer(in *input, p *v1alpha1.ReplicaSchedulingPreference) v1alpha1.ReplicaSchedulingPreferenceStatus {
	status := *p.Status.DeepCopy()
	status.ObservedGeneration = p.Generation
	c := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "InForce",
		Message: "the replicas are divided by it", ObservedGeneration: p.Generation,
	}
	switch in.workload {
	case nil:
		c.Status, c.Reason = metav1.ConditionFalse, "NoWorkload"
		c.Message = "there is no FederatedDeployment " + in.key.Name + ": it is in force as soon as there is one"
	default:
		if holds := adapter.Preferred(in.workload, in.preferences); holds.Name != p.Name {
			c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonConflict
			c.Message = holds.Name + " names the same workload and is older, or first by name: delete one of them"
		}
	}
	meta.SetStatusCondition(&status.Conditions, c)
	return status
}
