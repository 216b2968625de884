// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/config/crd"
)

// kindServer does with an object of one kind what an API server does between decoding and storing it.
type kindServer struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// servers makes one kindServer for each kind, as the chart would install them.
func servers(t *testing.T) map[string]kindServer {
	t.Helper()
	defs, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]kindServer, len(defs))
	for _, def := range defs {
		props := internal(t, def).Spec.Validation.OpenAPIV3Schema
		structural, err := schema.NewStructural(props)
		if err != nil {
			t.Fatalf("%s: %v", def.Name, err)
		}
		checker, _, err := validation.NewSchemaValidator(props)
		if err != nil {
			t.Fatalf("%s: %v", def.Name, err)
		}
		out[def.Spec.Names.Kind] = kindServer{
			structural: structural,
			schema:     checker,
			rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
		}
	}
	return out
}

// internal converts a definition to the form that the API server works with. It has one version, so its schema moves
// to the top, as the conversion does with versions that agree.
func internal(t *testing.T, def *apiextensionsv1.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	t.Helper()
	def = def.DeepCopy()
	apiextensionsv1.SetDefaults_CustomResourceDefinition(def)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&def.Spec)
	out := &apiextensions.CustomResourceDefinition{}
	err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(def, out, nil)
	if err != nil {
		t.Fatalf("%s: %v", def.Name, err)
	}
	return out
}

// admit fills in defaults, in place, and says why the object is refused. A nil old object means it is created.
func (s kindServer) admit(t *testing.T, obj, old map[string]any) field.ErrorList {
	t.Helper()
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, s.structural)
	defaulting.Default(obj, s.structural)
	var errs field.ErrorList
	for _, unknown := range pruning.PruneWithOptions(obj, s.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		errs = append(errs, field.Invalid(field.NewPath(unknown), nil, "unknown field"))
	}
	if old == nil {
		errs = append(errs, validation.ValidateCustomResource(nil, obj, s.schema)...)
	} else {
		errs = append(errs, validation.ValidateCustomResourceUpdate(nil, obj, old, s.schema)...)
	}
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, obj)...)
	// A nil interface, not a nil map, is what tells the rules that nothing was there before.
	var before any
	if old != nil {
		before = old
	}
	broken, _ := s.rules.Validate(t.Context(), nil, s.structural, obj, before, celconfig.RuntimeCELCostBudget)
	return append(errs, broken...)
}

// objects decodes each document of a file.
func objects(t *testing.T, path string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for doc := range bytes.SplitSeq(data, []byte("\n---\n")) {
		out = append(out, object(t, string(doc)))
	}
	return out
}

// object decodes one manifest with the numbers that an API server would see.
func object(t *testing.T, manifest string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(manifest))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, manifest)
	}
	out := map[string]any{}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%v in:\n%s", err, manifest)
	}
	return out
}

// text joins errors for a look at all of them.
func text(errs field.ErrorList) string {
	lines := make([]string, 0, len(errs))
	for _, err := range errs {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}
