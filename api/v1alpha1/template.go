// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	gojson "encoding/json"
	"errors"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/json"
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

// decodeStrict decodes a template's field at path and names every field that its kind does not have, or that is of
// another type. Names are read as an API server reads them, in which Replicas is not replicas.
func decodeStrict(data []byte, into any, path *field.Path, kind string) field.ErrorList {
	unknown, err := json.UnmarshalStrict(data, into)
	var errs field.ErrorList
	var wrong *gojson.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return append(errs, field.TypeInvalid(at(path, wrong.Field), wrong.Value, "must be a "+wrong.Type.String()+" in a "+kind))
	case err != nil:
		return append(errs, field.Invalid(path, "", fmt.Sprintf("is not the spec of a %s: %v", kind, err)))
	}
	for _, err := range unknown {
		where := path
		if named, ok := errors.AsType[json.FieldError](err); ok {
			where = at(path, named.FieldPath())
		}
		errs = append(errs, field.Invalid(where, "", "a "+kind+" has no such field, or has it twice: correct its name, or remove it"))
	}
	return errs
}

// at is a path below another one, as a decoder names it.
func at(path *field.Path, below string) *field.Path {
	if below == "" {
		return path
	}
	return path.Child(below)
}
