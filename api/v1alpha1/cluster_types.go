// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cluster is a member's registration: where it is, how the hub reaches it, and how patient the hub is with it.
//
// Users write its spec (kubectl weir join does). Its name is the member's identity over the whole federation; labels
// are what policies select by.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=wcl,categories=weir
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Healthy",type=string,JSONPath=`.status.conditions[?(@.type=="Healthy")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Region",type=string,JSONPath=`.spec.region`
// +kubebuilder:printcolumn:name="Zone",type=string,JSONPath=`.spec.zone`,priority=1
// +kubebuilder:printcolumn:name="Kubernetes",type=string,JSONPath=`.status.kubernetesVersion`
// +kubebuilder:printcolumn:name="Istio",type=string,JSONPath=`.status.istio.version`
// +kubebuilder:printcolumn:name="Agent",type=string,JSONPath=`.status.agent.version`,priority=1
// +kubebuilder:printcolumn:name="View",type=date,JSONPath=`.status.view.trueAt`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the registration.
	// +required
	Spec ClusterSpec `json:"spec"`
	// status is what the hub knows of the member.
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterList is a list of Clusters.
//
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cluster `json:"items"`
}

// ClusterSpec is a member's registration.
type ClusterSpec struct {
	// apiEndpoint is the URL of the member's API server as the hub reaches it, such as https://north-1.example.com:6443.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https' && url(self).getHostname() != ''",message="apiEndpoint must be an https URL with a host, such as https://north-1.example.com:6443"
	// +required
	APIEndpoint string `json:"apiEndpoint"`
	// caBundle holds the certificates, PEM, that the member's API server is verified with; base64 in YAML.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=131072
	// +kubebuilder:validation:XValidation:rule="string(self).contains('-----BEGIN CERTIFICATE-----')",message="caBundle must be the base64 of certificates in PEM, as in certificate-authority-data of a kubeconfig"
	// +kubebuilder:validation:XValidation:rule="!string(self).contains('PRIVATE KEY-----')",message="caBundle holds a private key, which everyone who reads Clusters could see: leave only CERTIFICATE blocks, and replace that key"
	// +required
	CABundle []byte `json:"caBundle"`
	// region of the member, for affinity and for people. Empty: unknown.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Region string `json:"region,omitempty"`
	// zone of the member within its region. Empty: unknown.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Zone string `json:"zone,omitempty"`
	// taints keep work away that does not tolerate them.
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Taints []ClusterTaint `json:"taints,omitempty"`
	// capacity is what the member had when it joined, by resource: a record for people.
	// +kubebuilder:validation:MaxProperties=30
	// +kubebuilder:validation:XValidation:rule="self.all(name, type(self[name]) == int || isQuantity(self[name]))",message="a quantity has an exponent that nobody can read: write it with a suffix, such as 2560Gi"
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// heartbeatInterval is how often the agent sends a beat. Between 1s and 10m. Default 10s.
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('10m')",message="heartbeatInterval must be a duration between 1s and 10m, such as 10s"
	// +optional
	HeartbeatInterval *metav1.Duration `json:"heartbeatInterval,omitempty"`
	// suspectAfter is how many beats in a row may be missed before the member is Suspect. Default 3.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	SuspectAfter int32 `json:"suspectAfter,omitempty"`
	// deadAfter is how long a Suspect member may fail every probe before it is Dead. Between 1s and 24h. Default 30s.
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="deadAfter must be a duration between 1s and 24h, such as 30s"
	// +optional
	DeadAfter *metav1.Duration `json:"deadAfter,omitempty"`
	// syncMode says how objects get into the member: Push (default), the hub writes them; or Pull, the agent fetches
	// them.
	// +kubebuilder:default=Push
	// +optional
	SyncMode SyncMode `json:"syncMode,omitempty"`
	// edgeAutonomy says what becomes of pods while the member is cut off: Disabled (default), they may be replaced
	// elsewhere; or Enabled, they are neither restarted nor moved.
	// +kubebuilder:default=Disabled
	// +optional
	EdgeAutonomy EdgeAutonomy `json:"edgeAutonomy,omitempty"`
	// price of the member's resources. Unset: no cost is counted.
	// +optional
	Price *ClusterPrice `json:"price,omitempty"`
	// istioClusterID is the ID under which the member's istiod and proxies know it. Empty (default): the name of
	// this Cluster.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	IstioClusterID string `json:"istioClusterID,omitempty"`
	// ingressAddresses are where clients from outside enter the member, for DNS to answer. Empty (default): those that its
	// agent sees of its ingress gateways. 20 at most.
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=45
	// +kubebuilder:validation:items:Pattern=`^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(\.(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}|[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,7})$`
	// +optional
	IngressAddresses []string `json:"ingressAddresses,omitempty"`
	// credentialsSecretRef names a Secret with a kubeconfig for the hub under the key kubeconfig, in the hub's own
	// namespace. From the kubeconfig only the user is taken; server and CA are apiEndpoint and caBundle. A Push
	// member without one is Ready=False with reason NoCredentials.
	// +optional
	CredentialsSecretRef *SecretReference `json:"credentialsSecretRef,omitempty"`
}

// ClusterTaint keeps work away that does not tolerate it: of a Cluster, or of nodes in a ClusterView.
type ClusterTaint struct {
	// key of the taint.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +required
	Key string `json:"key"`
	// value of the taint.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Value string `json:"value,omitempty"`
	// effect on work that does not tolerate it: NoSchedule, PreferNoSchedule or NoExecute.
	// +required
	Effect TaintEffect `json:"effect"`
}

// TaintEffect says what a taint does to work that does not tolerate it.
//
// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
type TaintEffect string

// What a taint does to work that does not tolerate it.
const (
	TaintNoSchedule       TaintEffect = "NoSchedule"
	TaintPreferNoSchedule TaintEffect = "PreferNoSchedule"
	TaintNoExecute        TaintEffect = "NoExecute"
)

// SyncMode says how objects get into a member.
//
// +kubebuilder:validation:Enum=Push;Pull
type SyncMode string

// Ways in which objects get into a member.
const (
	SyncPush SyncMode = "Push"
	SyncPull SyncMode = "Pull"
)

// EdgeAutonomy says what becomes of pods while their member is cut off.
//
// +kubebuilder:validation:Enum=Disabled;Enabled
type EdgeAutonomy string

// What becomes of pods while their member is cut off.
const (
	EdgeAutonomyDisabled EdgeAutonomy = "Disabled"
	EdgeAutonomyEnabled  EdgeAutonomy = "Enabled"
)

// ClusterPrice is what resources of a member cost, as decimal numbers of one currency that all Clusters share.
type ClusterPrice struct {
	// cpuPerHour is the price of one core for an hour.
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[0-9]{1,9}(\.[0-9]{1,9})?$`
	// +optional
	CPUPerHour string `json:"cpuPerHour,omitempty"`
	// memoryGiBPerHour is the price of one GiB of memory for an hour.
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[0-9]{1,9}(\.[0-9]{1,9})?$`
	// +optional
	MemoryGiBPerHour string `json:"memoryGiBPerHour,omitempty"`
}

// SecretReference names a Secret in the hub's own namespace.
type SecretReference struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}
