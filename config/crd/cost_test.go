// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/config/crd"
)

// What an API server allows one rule, and all rules of a definition, to cost at worst.
const (
	ruleCostLimit       = 10_000_000
	definitionCostLimit = 100_000_000
)

// The API server refuses a definition whose rules do not compile or could cost too much: this finds it at home.
func TestRulesCompileWithinTheCostThatAnAPIServerAllows(t *testing.T) {
	rules := map[string]int{}
	for kind, server := range servers(t) {
		var total uint64
		walk(server.Structural(), kind, 1, func(node *schema.Structural, path string, times uint64) {
			results, err := cel.Compile(node, model.SchemaDeclType(node, path == kind || node.XEmbeddedResource), celconfig.PerCallLimit,
				environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), cel.NewExpressionsEnvLoader())
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
			for i, result := range results {
				rules[kind]++
				rule := node.XValidations[i]
				if result.Error != nil {
					t.Errorf("%s: %q does not compile: %v", path, rule.Rule, result.Error)
				}
				if rule.Message == "" {
					t.Errorf("%s: %q has no message", path, rule.Rule)
				}
				cost := result.MaxCost * times
				if total += cost; cost > ruleCostLimit {
					t.Errorf("%s: %q may cost %d, over %d: bound what it ranges over", path, rule.Rule, cost, ruleCostLimit)
				}
			}
		})
		if total > definitionCostLimit {
			t.Errorf("%s: all rules may cost %d, over %d", kind, total, definitionCostLimit)
		}
	}
	for kind := range servers(t) {
		if rules[kind] == 0 && kind != v1alpha1.ClusterViewKind {
			t.Errorf("%s has no rule: the walk missed them", kind)
		}
	}
}

// A default is checked against the rules by itself, before any default inside it is filled in.
func TestDefaultsKeepTheirOwnRules(t *testing.T) {
	for kind, server := range servers(t) {
		errs, err := defaulting.ValidateDefaults(t.Context(), field.NewPath(kind), server.Structural(), true, true)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if len(errs) > 0 {
			t.Errorf("an API server refuses %s:\n%s", kind, text(errs))
		}
	}
}

// walk visits each node of a schema with how often it can occur in one object.
func walk(node *schema.Structural, path string, times uint64, visit func(*schema.Structural, string, uint64)) {
	visit(node, path, times)
	for name := range node.Properties {
		child := node.Properties[name]
		walk(&child, path+"."+name, times, visit)
	}
	if node.Items != nil {
		walk(node.Items, path+"[]", times*bound(node.ValueValidation.MaxItems), visit)
	}
	if node.AdditionalProperties != nil && node.AdditionalProperties.Structural != nil {
		walk(node.AdditionalProperties.Structural, path+"{}", times*bound(node.ValueValidation.MaxProperties), visit)
	}
}

// bound is how many elements a list or map may have; far too many where nothing says.
func bound(limit *int64) uint64 {
	if limit == nil {
		return ruleCostLimit
	}
	return uint64(*limit)
}

func TestEveryKindHasItsDefinitionWithStatusApart(t *testing.T) {
	defs, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, def := range defs {
		got[def.Spec.Names.Kind] = string(def.Spec.Scope)
		version := def.Spec.Versions[0]
		if len(def.Spec.Versions) != 1 || version.Name != "v1alpha1" || !version.Served || !version.Storage {
			t.Errorf("%s: versions are %v", def.Name, def.Spec.Versions)
		}
		// A FederationEpoch is two numbers that weir compares: nobody reports on it.
		if hasStatus := version.Subresources != nil && version.Subresources.Status != nil; hasStatus != (def.Spec.Names.Kind != "FederationEpoch") {
			t.Errorf("%s: status subresource is %t", def.Name, hasStatus)
		}
		if len(version.AdditionalPrinterColumns) == 0 || len(def.Spec.Names.ShortNames) == 0 {
			t.Errorf("%s has no printer column or no short name", def.Name)
		}
	}
	want := map[string]string{
		"Cluster": "Cluster", "ClusterDrain": "Cluster", "FederationEpoch": "Cluster",
		"TrafficPolicy": "Namespaced", "GlobalService": "Namespaced",
		"FederatedDeployment": "Namespaced", "FederatedService": "Namespaced", "ReplicaSchedulingPreference": "Namespaced",
		"ResourceBinding": "Namespaced", "Work": "Namespaced",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scope by kind (-want +got):\n%s", diff)
	}
}
