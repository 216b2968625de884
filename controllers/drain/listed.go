// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/shift"
)

// told says whether the member tells now which Services it has: a cluster that is silent, or has just begun to tell, may
// have some that nobody here knows.
func (in *input) told() bool {
	return in.snapshot != nil && in.snapshot.Connected && in.snapshot.InventoryComplete
}

// notTakenUp names the Services that the member tells of as global and that no GlobalService counts there, sorted. What
// is not counted was not drained.
func (in *input) notTakenUp() []types.NamespacedName {
	if !in.told() {
		return nil
	}
	var out []types.NamespacedName
	for key, fact := range in.snapshot.Services {
		if fact.Value.GetAnnotations()[v1alpha1.AnnotationGlobal] != "true" {
			continue
		}
		if !slices.ContainsFunc(in.services, func(gs v1alpha1.GlobalService) bool { return keyOf(&gs) == key }) {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

// rowNotTakenUp is the line of such a Service.
func rowNotTakenUp(key types.NamespacedName, cluster string) v1alpha1.DrainedService {
	return v1alpha1.DrainedService{Namespace: key.Namespace, Name: key.Name, Blocked: []v1alpha1.Blocker{{
		Code: shift.CannotSee.String(), Cluster: cluster, Wakes: shift.SightBack.String(), Message: fmt.Sprintf(
			"Service %s of %s is global and not counted on the hub yet; if that stays, see that namespace %s exists on the hub and read the hub's log", key, cluster, key.Namespace),
	}}}
}
