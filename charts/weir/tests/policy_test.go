// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"
	admissionapi "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

const hubUser = "system:serviceaccount:weir-system:weir-hub"

// expression is one expression of a policy.
type expression struct {
	name, text string
	types      []*celgo.Type
}

func (e expression) GetName() string            { return e.name }
func (e expression) GetExpression() string      { return e.text }
func (e expression) ReturnTypes() []*celgo.Type { return e.types }

// policies are the admission policies of the agent's release whose names begin so, compiled as an API server does.
func policies(t *testing.T, prefix string) []*admissionv1.ValidatingAdmissionPolicy {
	t.Helper()
	var out []*admissionv1.ValidatingAdmissionPolicy
	for _, r := range resources(t, agentValues) {
		if p, ok := r.object.(*admissionv1.ValidatingAdmissionPolicy); ok && strings.HasPrefix(p.Name, prefix) {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no policy %s", prefix)
	}
	return out
}

// write is what somebody does in a member. Object or old may be empty: it is a DELETE, or a CREATE.
type write struct {
	by          string
	resource    string // of the object, with a subresource after a slash
	object, old string // YAML
	options     runtime.Object
}

func (w write) operation() admission.Operation {
	switch {
	case w.object == "":
		return admission.Delete
	case w.old == "":
		return admission.Create
	}
	return admission.Update
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	if text == "" {
		return nil
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return u
}

// selects says whether a policy looks at a write at all, by its resources and labels.
func selects(t *testing.T, p *admissionv1.ValidatingAdmissionPolicy, w write) bool {
	t.Helper()
	c := p.Spec.MatchConstraints
	named := false
	for _, r := range c.ResourceRules {
		for _, name := range r.Resources {
			for _, op := range r.Operations {
				named = named || name == w.resource && string(op) == string(w.operation())
			}
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(c.ObjectSelector)
	if err != nil {
		t.Fatal(err)
	}
	if c.ObjectSelector == nil {
		selector = labels.Everything()
	}
	for _, text := range []string{w.object, w.old} {
		if u := parse(t, text); named && u != nil && selector.Matches(labels.Set(u.GetLabels())) {
			return true
		}
	}
	return false
}

// refusal is why a policy refuses a write; nil: it admits it. Param is nil where there is none.
func refusal(t *testing.T, p *admissionv1.ValidatingAdmissionPolicy, param *unstructured.Unstructured, w write) error {
	t.Helper()
	if !selects(t, p, w) {
		return nil
	}
	if p.Spec.ParamKind != nil && param == nil {
		return errors.New("no params found") // which is what the binding asks for.
	}
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		t.Fatal(err)
	}
	options := cel.OptionalVariableDeclarations{HasParams: p.Spec.ParamKind != nil, HasAuthorizer: true}
	for _, v := range p.Spec.Variables {
		result := compiler.CompileAndStoreVariable(expression{v.Name, v.Expression, []*celgo.Type{celgo.AnyType, celgo.DynType}}, options, environment.StoredExpressions)
		if result.Error != nil {
			t.Fatalf("%s: variable %s: %v", p.Name, v.Name, result.Error)
		}
	}
	attributes, request := w.attributes(t)
	var conditions []cel.ExpressionAccessor
	for _, c := range p.Spec.MatchConditions {
		conditions = append(conditions, expression{c.Name, c.Expression, []*celgo.Type{celgo.BoolType}})
	}
	for _, c := range evaluate(t, compiler, conditions, options, attributes, request, param) {
		if c.EvalResult.Value() != true {
			return nil
		}
	}
	var rules, messages []cel.ExpressionAccessor
	for i := range p.Spec.Validations {
		v := &p.Spec.Validations[i]
		rules = append(rules, expression{"", v.Expression, []*celgo.Type{celgo.BoolType}})
		if v.MessageExpression == "" {
			v.MessageExpression = fmt.Sprintf("%q", v.Message)
		}
		messages = append(messages, expression{"", v.MessageExpression, []*celgo.Type{celgo.StringType}})
	}
	texts := evaluate(t, compiler, messages, options, attributes, request, param)
	var errs []error
	for i, r := range evaluate(t, compiler, rules, options, attributes, request, param) {
		if r.EvalResult.Value() != true {
			errs = append(errs, fmt.Errorf("%v", texts[i].EvalResult.Value()))
		}
	}
	return errors.Join(errs...)
}

func evaluate(t *testing.T, compiler *cel.CompositedCompiler, all []cel.ExpressionAccessor, options cel.OptionalVariableDeclarations,
	attributes *admission.VersionedAttributes, request *admissionapi.AdmissionRequest, param *unstructured.Unstructured,
) []cel.EvaluationResult {
	t.Helper()
	evaluator := compiler.CompileCondition(all, options, environment.StoredExpressions)
	bindings := cel.OptionalVariableBindings{}
	if param != nil {
		bindings.VersionedParams = param
	}
	results, _, err := evaluator.ForInput(t.Context(), attributes, request, bindings, nil, celconfig.RuntimeCELCostBudget)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Error != nil {
			t.Fatalf("%s: %v", all[i].GetExpression(), r.Error)
		}
	}
	return results
}

func (w write) attributes(t *testing.T) (*admission.VersionedAttributes, *admissionapi.AdmissionRequest) {
	t.Helper()
	object, old := parse(t, w.object), parse(t, w.old)
	either := object
	if either == nil {
		either = old
	}
	resource, sub, _ := strings.Cut(w.resource, "/")
	kind := either.GroupVersionKind()
	gvr := schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: resource}
	by := w.by
	if by == "" {
		by = hubUser
	}
	var next, before runtime.Object
	if object != nil {
		next = object
	}
	if old != nil {
		before = old
	}
	a := admission.NewAttributesRecord(next, before, kind, either.GetNamespace(), either.GetName(), gvr, sub, w.operation(), w.options, false, &user.DefaultInfo{Name: by})
	v := &admission.VersionedAttributes{
		Attributes: a, VersionedKind: kind, VersionedObject: admission.NewLazyObject(next), VersionedOldObject: admission.NewLazyObject(before),
	}
	return v, cel.CreateAdmissionRequest(a, metav1.GroupVersionResource(gvr), metav1.GroupVersionKind(kind))
}
