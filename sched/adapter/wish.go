// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/weir-io/weir/api/v1alpha1"
)

// Preferred is the preference that holds for a federated workload: of those that name it the oldest, and of equally old
// ones the first by name. Nil: none names it.
func Preferred(d *v1alpha1.FederatedDeployment, all []v1alpha1.ReplicaSchedulingPreference) *v1alpha1.ReplicaSchedulingPreference {
	var preferred *v1alpha1.ReplicaSchedulingPreference
	for i := range all {
		p := &all[i]
		if t := p.Spec.TargetRef; p.Namespace != d.Namespace || t.Kind != "FederatedDeployment" || t.Name != d.Name {
			continue
		}
		if preferred == nil || older(p, preferred) {
			preferred = p
		}
	}
	return preferred
}

func older(a, b *v1alpha1.ReplicaSchedulingPreference) bool {
	if at, bt := a.CreationTimestamp, b.CreationTimestamp; !at.Equal(&bt) {
		return at.Before(&bt)
	}
	return strings.Compare(a.Name, b.Name) < 0
}

// Wish is what a federated workload and the preference in force for it (nil: none) ask for, as a ResourceBinding keeps it;
// decision and plan are left empty. The errors name fields of the FederatedDeployment.
func Wish(d *v1alpha1.FederatedDeployment, preference *v1alpha1.ReplicaPreference) (v1alpha1.ResourceBindingSpec, field.ErrorList) {
	deployment, errs := d.Deployment()
	if len(errs) > 0 {
		return v1alpha1.ResourceBindingSpec{}, errs
	}
	pins, errs := d.Pins()
	if len(errs) > 0 {
		return v1alpha1.ResourceBindingSpec{}, errs
	}
	return v1alpha1.ResourceBindingSpec{
		Resource:         v1alpha1.ResourceReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Namespace: d.Namespace, Name: d.Name},
		WishGeneration:   d.Generation,
		Replicas:         d.Wanted(),
		ResourceNeed:     Requests(&deployment.Spec.Template),
		Placement:        *d.Spec.Placement.DeepCopy(),
		Preference:       preference.DeepCopy(),
		Pins:             pins,
		NodeRequirements: requirements(&deployment.Spec.Template.Spec),
	}, nil
}
