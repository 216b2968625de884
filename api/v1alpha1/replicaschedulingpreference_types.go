// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReplicaSchedulingPreference says how the replicas of a federated workload are divided over members.
//
// Users write its spec. Of several for one workload the oldest holds; the others are Ready=False, reason Conflict.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rsp,categories=weir
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.targetRef.name`
// +kubebuilder:printcolumn:name="Min",type=integer,JSONPath=`.spec.minReplicas`
// +kubebuilder:printcolumn:name="Max",type=integer,JSONPath=`.spec.maxReplicas`
// +kubebuilder:printcolumn:name="Period",type=string,JSONPath=`.spec.rebalancePeriod`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ReplicaSchedulingPreference struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the user prefers.
	// +required
	Spec ReplicaSchedulingPreferenceSpec `json:"spec"`
	// status says whether it is in force.
	// +optional
	Status ReplicaSchedulingPreferenceStatus `json:"status,omitempty"`
}

// ReplicaSchedulingPreferenceList is a list of ReplicaSchedulingPreferences.
//
// +kubebuilder:object:root=true
type ReplicaSchedulingPreferenceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ReplicaSchedulingPreference `json:"items"`
}

// ReplicaSchedulingPreferenceSpec is which workload, and how its replicas are divided.
type ReplicaSchedulingPreferenceSpec struct {
	// targetRef names the workload, in the same namespace.
	// +required
	TargetRef PreferenceTarget `json:"targetRef"`
	// preference is how its replicas are divided.
	ReplicaPreference `json:",inline"`
}

// PreferenceTarget names a federated workload.
//
// +kubebuilder:validation:XValidation:rule="self.apiVersion == 'federation.weir.io/v1alpha1' && self.kind == 'FederatedDeployment'",message="only a FederatedDeployment is divided: set apiVersion: federation.weir.io/v1alpha1 and kind: FederatedDeployment"
type PreferenceTarget struct {
	// apiVersion of the workload: federation.weir.io/v1alpha1.
	// +kubebuilder:validation:MaxLength=128
	// +required
	APIVersion string `json:"apiVersion"`
	// kind of the workload: FederatedDeployment.
	// +kubebuilder:validation:MaxLength=63
	// +required
	Kind string `json:"kind"`
	// name of the workload. One that does not exist is no error: it may be made later.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}

// ReplicaPreference is how replicas are divided over the members that placement admits.
//
// +kubebuilder:validation:XValidation:rule="!has(self.weight) || !has(self.clusters) || self.weight.all(name, !(name in self.clusters) || !has(self.clusters[name].weight))",message="a cluster has a weight in weight and in clusters: leave it in one of them",fieldPath=".weight"
// +kubebuilder:validation:XValidation:rule="!has(self.maxReplicas) || !has(self.minReplicas) || self.minReplicas <= self.maxReplicas",message="minReplicas is above maxReplicas: lower minReplicas or raise maxReplicas",fieldPath=".minReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.clusters) || !has(self.maxReplicas) || self.clusters.all(name, has(self.clusters[name].maxReplicas) || !has(self.clusters[name].minReplicas) || self.clusters[name].minReplicas <= self.maxReplicas)",message="a cluster's minReplicas is above the maxReplicas that holds for all: give that cluster a maxReplicas of its own, or lower its minReplicas",fieldPath=".clusters"
type ReplicaPreference struct {
	// weight of each cluster, as a ratio: 8 and 2 give 80 % and 20 %. A cluster that is named neither here nor, with a
	// weight, in clusters has weight 0. Unset (default): every cluster has weight 1, but those that clusters gives
	// another. A cluster of weight 0 gets no replica but its minReplicas.
	// +kubebuilder:validation:MaxProperties=1000
	// +optional
	Weight map[string]ClusterWeight `json:"weight,omitempty"`
	// minReplicas is what each cluster gets at least. Where there are too few for all, they are filled one by one, and
	// who is short is said. Default 1.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// maxReplicas is what each cluster gets at most. Unset (default): no limit but what fits.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`
	// rebalancePeriod is how often replicas that stand are moved to where the weights want them. Between 1s and 24h. Default 5m.
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="rebalancePeriod must be a duration between 1s and 24h, such as 5m"
	// +optional
	RebalancePeriod *metav1.Duration `json:"rebalancePeriod,omitempty"`
	// clusters says for single clusters what is different there, by name.
	// +kubebuilder:validation:MaxProperties=1000
	// +optional
	Clusters map[string]ClusterPreference `json:"clusters,omitempty"`
}

// ClusterPreference is what is different in one cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",message="minReplicas is above maxReplicas: lower minReplicas or raise maxReplicas",fieldPath=".minReplicas"
type ClusterPreference struct {
	// weight of the cluster. Unset: as if the cluster were not named here.
	// +optional
	Weight *ClusterWeight `json:"weight,omitempty"`
	// minReplicas of the cluster. Unset: what holds for all.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// maxReplicas of the cluster, which beats every minReplicas that holds for all. 0: none. Unset: what holds for
	// all.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`
}

// ReplicaSchedulingPreferenceStatus says whether a preference is in force.
type ReplicaSchedulingPreferenceStatus struct {
	// observedGeneration is the metadata.generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready (it is in force).
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
