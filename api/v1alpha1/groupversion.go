// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every type in this package.
var GroupVersion = schema.GroupVersion{Group: "federation.weir.io", Version: "v1alpha1"}

// AddToScheme registers the types of this package, but for ClusterView, which no API server has.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Cluster{}, &ClusterList{},
		&TrafficPolicy{}, &TrafficPolicyList{},
		&GlobalService{}, &GlobalServiceList{},
		&ClusterDrain{}, &ClusterDrainList{},
		&FederatedDeployment{}, &FederatedDeploymentList{},
		&FederatedService{}, &FederatedServiceList{},
		&ReplicaSchedulingPreference{}, &ReplicaSchedulingPreferenceList{},
		&ResourceBinding{}, &ResourceBindingList{},
		&Work{}, &WorkList{},
		&FederationEpoch{}, &FederationEpochList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
