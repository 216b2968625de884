// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate says what is wrong with a ClusterView that its schema admits.
func (v *ClusterView) Validate() field.ErrorList {
	var errs field.ErrorList
	nodes := field.NewPath("spec", "nodes")
	for i, n := range v.Spec.Nodes {
		errs = append(errs, negative(n.Allocatable, nodes.Index(i).Child("allocatable"))...)
		errs = append(errs, negative(n.Allocated, nodes.Index(i).Child("allocated"))...)
	}
	return errs
}

// negative names the quantities below zero, in the order of their names.
func negative(list corev1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if q := list[name]; q.Sign() < 0 {
			errs = append(errs, field.Invalid(path.Child(string(name)), q.String(), "must not be less than 0"))
		}
	}
	return errs
}
