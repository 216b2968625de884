// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	gojson "encoding/json"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultReplicas is how many replicas a template wants that does not say.
const DefaultReplicas = 1

const replicasField = "replicas"

// MarshalJSON writes replicas and all other fields as one object, sorted by name.
func (s DeploymentTemplateSpec) MarshalJSON() ([]byte, error) {
	all := make(map[string]any, len(s.Fields)+1)
	for name, value := range s.Fields {
		all[name] = value
	}
	if s.Replicas != nil {
		all[replicasField] = *s.Replicas
	}
	return gojson.Marshal(all)
}

// UnmarshalJSON keeps every field as it stands but for replicas.
func (s *DeploymentTemplateSpec) UnmarshalJSON(data []byte) error {
	var fields map[string]apiextensionsv1.JSON
	if err := gojson.Unmarshal(data, &fields); err != nil {
		return fmt.Errorf("decode the spec of a template: %w", err)
	}
	*s = DeploymentTemplateSpec{}
	if raw, ok := fields[replicasField]; ok {
		if err := gojson.Unmarshal(raw.Raw, &s.Replicas); err != nil {
			return fmt.Errorf("decode replicas of a template: %w", err)
		}
		delete(fields, replicasField)
	}
	if len(fields) > 0 {
		s.Fields = fields
	}
	return nil
}

// SetDeploymentSpec makes the template one of a typed spec, for programs that do not write manifests.
func (s *DeploymentTemplateSpec) SetDeploymentSpec(spec *appsv1.DeploymentSpec) error {
	data, err := gojson.Marshal(spec)
	if err != nil {
		return fmt.Errorf("encode the spec of a Deployment: %w", err)
	}
	return s.UnmarshalJSON(data)
}

// object is the metadata of a copy.
func (m TemplateMeta) object(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: maps.Clone(m.Labels), Annotations: maps.Clone(m.Annotations),
	}
}
