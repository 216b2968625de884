// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/config/crd"
)

// views is the schema of ClusterViews, in the form of a definition.
//
//go:embed clusterviews.yaml
var views []byte

// Checker checks objects of one kind. It may be used by several goroutines at once.
type Checker struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	namespaced bool
	rules      func() *cel.Validator // Compiled when the first object comes.
}

// Checkers makes a Checker for every kind of group federation.weir.io, by kind, ClusterView included. The first object of
// a kind costs some tens of milliseconds, for compiling the kind's rules. An error means that the program was built from
// a broken tree.
func Checkers() (map[string]Checker, error) {
	defs, err := crd.All()
	if err != nil {
		return nil, err
	}
	view := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(views, view); err != nil {
		return nil, fmt.Errorf("decode the embedded schema of ClusterViews: %w", err)
	}
	out := make(map[string]Checker, len(defs)+1)
	for _, def := range append(defs, view) {
		checker, err := newChecker(def)
		if err != nil {
			return nil, fmt.Errorf("definition %s: %w", def.Name, err)
		}
		out[def.Spec.Names.Kind] = checker
	}
	return out, nil
}

func newChecker(def *apiextensionsv1.CustomResourceDefinition) (Checker, error) {
	// The one version's schema moves to the top, as the conversion does with versions that agree.
	def = def.DeepCopy()
	apiextensionsv1.SetDefaults_CustomResourceDefinition(def)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&def.Spec)
	internal := &apiextensions.CustomResourceDefinition{}
	err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(def, internal, nil)
	if err != nil {
		return Checker{}, fmt.Errorf("convert: %w", err)
	}
	props := internal.Spec.Validation.OpenAPIV3Schema
	structural, err := schema.NewStructural(props)
	if err != nil {
		return Checker{}, fmt.Errorf("read as structural: %w", err)
	}
	checker, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return Checker{}, fmt.Errorf("make a validator: %w", err)
	}
	rules := sync.OnceValue(func() *cel.Validator { return cel.NewValidator(structural, true, celconfig.PerCallLimit) })
	namespaced := def.Spec.Scope == apiextensionsv1.NamespaceScoped
	return Checker{structural: structural, schema: checker, rules: rules, namespaced: namespaced}, nil
}

// Structural is the schema of the kind. It must not be changed.
func (c Checker) Structural() *schema.Structural { return c.structural }

// Create fills in defaults, in place, drops unknown fields, and says why an API server would refuse to create the
// object; none: it would not. The object is JSON as k8s.io/apimachinery/pkg/util/json decodes it: integers as int64.
func (c Checker) Create(ctx context.Context, obj map[string]any) field.ErrorList {
	return c.admit(ctx, obj, nil)
}

// Update is as Create, for an object that takes the place of an old one.
func (c Checker) Update(ctx context.Context, obj, old map[string]any) field.ErrorList {
	return c.admit(ctx, obj, old)
}

func (c Checker) admit(ctx context.Context, obj, old map[string]any) field.ErrorList {
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, c.structural)
	defaulting.Default(obj, c.structural)
	errs := c.metadata(ctx, obj)
	for _, unknown := range pruning.PruneWithOptions(obj, c.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		errs = append(errs, unknownField(unknown))
	}
	if old != nil {
		errs = append(errs, validation.ValidateCustomResourceUpdate(nil, obj, old, c.schema)...)
	} else {
		errs = append(errs, validation.ValidateCustomResource(nil, obj, c.schema)...)
	}
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.structural, obj)...)
	errs = append(errs, quantities(nil, obj, c.structural)...)
	// Rules read what the schema promises: on an object that breaks it they would only repeat it in worse words.
	if !slices.ContainsFunc(errs, blocksRules) {
		var before any // A nil interface, not a nil map, tells the rules that nothing was there before.
		if old != nil {
			before = old
		}
		broken, _ := c.rules().Validate(ctx, nil, c.structural, obj, before, celconfig.RuntimeCELCostBudget)
		errs = append(errs, broken...)
	}
	slices.SortStableFunc(errs, func(a, b *field.Error) int {
		return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(a.Error(), b.Error()))
	})
	return errs
}

// metadata checks what every object has, and that of objects within it. A namespaced object without a namespace is
// let through: it gets the one of the request.
func (c Checker) metadata(ctx context.Context, obj map[string]any) field.ErrorList {
	var errs field.ErrorList
	wrong, unknown := objectmeta.CoerceWithOptions(nil, obj, c.structural, true, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	for _, path := range unknown {
		errs = append(errs, unknownField(path))
	}
	if wrong != nil {
		return append(errs, wrong)
	}
	meta, found, err := objectmeta.GetObjectMeta(obj, false)
	if err != nil {
		return append(errs, field.Invalid(field.NewPath("metadata"), obj["metadata"], err.Error()))
	}
	if !found {
		meta = &metav1.ObjectMeta{}
	}
	namespaced := c.namespaced && meta.Namespace != ""
	errs = append(errs, apivalidation.ValidateObjectMeta(meta, namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))...)
	return append(errs, objectmeta.Validate(ctx, nil, obj, c.structural, false)...)
}

func unknownField(path string) *field.Error {
	return field.Invalid(field.NewPath(path), nil, "unknown field")
}

// blocksRules says whether an error leaves the rules without something that they read.
func blocksRules(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeRequired, field.ErrorTypeTypeInvalid, field.ErrorTypeNotSupported, field.ErrorTypeTooLong, field.ErrorTypeTooMany:
		return true
	default:
		return false
	}
}
