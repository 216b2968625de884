// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
	return json.Marshal(all)
}

// UnmarshalJSON keeps every field as it stands but for replicas.
func (s *DeploymentTemplateSpec) UnmarshalJSON(data []byte) error {
	var fields map[string]apiextensionsv1.JSON
	if err := json.Unmarshal(data, &fields); err != nil {
		return fmt.Errorf("decode the spec of a template: %w", err)
	}
	*s = DeploymentTemplateSpec{}
	if raw, ok := fields[replicasField]; ok {
		if err := json.Unmarshal(raw.Raw, &s.Replicas); err != nil {
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
	data, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("encode the spec of a Deployment: %w", err)
	}
	return s.UnmarshalJSON(data)
}

// Deployment is the object that the template describes, named as the federated object, with replicas over all members
// together, as the template says them, and neither selector nor labels filled in. Fields that this build's
// apps/v1.Deployment does not have, and values of another type, are an error that names them: it is the user's to mend.
//
// It is for looking at, by the scheduler for one. What goes to a member is made from the template itself, in which
// nothing is lost.
func (d *FederatedDeployment) Deployment() (*appsv1.Deployment, error) {
	out := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: d.Spec.Template.Metadata.object(d.Namespace, d.Name),
	}
	data, err := json.Marshal(d.Spec.Template.Spec)
	if err != nil {
		return nil, fmt.Errorf("spec.template.spec: %w", err)
	}
	if err := decodeStrict(data, &out.Spec); err != nil {
		return nil, fmt.Errorf("spec.template.spec is not the spec of an apps/v1 Deployment; mend the field it names: %w", err)
	}
	if len(out.Spec.Template.Spec.Containers) == 0 {
		return nil, errors.New("spec.template.spec.template.spec.containers is empty: name at least one container with its image")
	}
	return out, nil
}

// Service is the object that the template describes, named as the federated object. Fields that this build's
// core/v1.Service does not have, and values of another type, are an error that names them.
func (s *FederatedService) Service() (*corev1.Service, error) {
	out := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: s.Spec.Template.Metadata.object(s.Namespace, s.Name),
	}
	if err := decodeStrict(s.Spec.Template.Spec.Raw, &out.Spec); err != nil {
		return nil, fmt.Errorf("spec.template.spec is not the spec of a v1 Service; mend the field it names: %w", err)
	}
	if len(out.Spec.Ports) == 0 && out.Spec.Type != corev1.ServiceTypeExternalName && out.Spec.ClusterIP != corev1.ClusterIPNone {
		return nil, errors.New("spec.template.spec.ports is empty: name at least one port")
	}
	return out, nil
}

// object is the metadata of a copy.
func (m TemplateMeta) object(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: maps.Clone(m.Labels), Annotations: maps.Clone(m.Annotations),
	}
}

// decodeStrict refuses fields that the type does not have.
func decodeStrict(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}
