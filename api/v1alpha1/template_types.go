// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// TemplateMeta is what every member's copy carries besides what weir puts there.
type TemplateMeta struct {
	// labels of the copies.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of the copies. Those of a Service may be weir's own (weir.io/global and the like).
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// DeploymentTemplate is a Deployment without a name: what members get, but for overrides and replicas.
type DeploymentTemplate struct {
	// metadata of the Deployments. Name and namespace are those of the federated object.
	// +optional
	Metadata TemplateMeta `json:"metadata,omitzero"`
	// spec of the Deployments.
	// +required
	Spec DeploymentTemplateSpec `json:"spec"` //nolint:kubeapilinter // What it must hold, Deployment says.
}

// DeploymentTemplateSpec is the spec of an apps/v1 Deployment, kept as it was written. A selector that is missing is
// filled in, the same in all members; so are the pods' labels that it needs. A field that a Deployment does not have,
// in the version of Kubernetes that weir was built with, is answered by Ready=False, reason InvalidTemplate.
//
// +kubebuilder:pruning:PreserveUnknownFields
type DeploymentTemplateSpec struct {
	// replicas wanted, over all members together. Default 1.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Fields are all the others by name, as they were written.
	Fields map[string]apiextensionsv1.JSON `json:"-"`
}

// ServiceTemplate is a Service without a name: what members get, but for overrides.
type ServiceTemplate struct {
	// metadata of the Services. Name and namespace are those of the federated object.
	// +kubebuilder:validation:XValidation:rule="!has(self.annotations) || self.annotations.all(k, !k.startsWith('weir.io/') || k in ['weir.io/global', 'weir.io/traffic-policy', 'weir.io/hostname', 'weir.io/ttl', 'weir.io/adopt'])",message="an annotation is none that weir knows: use weir.io/global, weir.io/traffic-policy, weir.io/hostname, weir.io/ttl or weir.io/adopt",fieldPath=".annotations"
	// +kubebuilder:validation:XValidation:rule="!has(self.annotations) || !('weir.io/global' in self.annotations) || self.annotations['weir.io/global'] in ['true', 'false']",message="weir.io/global must be 'true', in quotes, to make the Service global, or 'false'",fieldPath=".annotations"
	// +kubebuilder:validation:XValidation:rule="!has(self.annotations) || !('weir.io/ttl' in self.annotations) || self.annotations['weir.io/ttl'].matches('^[1-9][0-9]{0,4}(s|m|h)$') && duration(self.annotations['weir.io/ttl']) <= duration('1h')",message="weir.io/ttl must be whole seconds or minutes, at least 1s and at most 1h, such as 5s",fieldPath=".annotations"
	// +kubebuilder:validation:XValidation:rule="!has(self.annotations) || !('weir.io/hostname' in self.annotations) || self.annotations['weir.io/hostname'].matches('^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?[.])+[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?[.]?$')",message="weir.io/hostname must be a full name in small letters, such as api.shop.example.com",fieldPath=".annotations"
	// +optional
	Metadata TemplateMeta `json:"metadata,omitzero"`
	// spec of the Services, that of a core/v1 Service, kept as it was written. A field that a Service does not have is
	// answered by Ready=False, reason InvalidTemplate.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +required
	Spec apiextensionsv1.JSON `json:"spec"`
}
