// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/config/crd"
)

// notApplied are the kinds that users read and never apply: weir writes them, or only files hold them.
var notApplied = []string{"ClusterView", "FederationEpoch", "GlobalService", "ResourceBinding", "Work"}

func TestKustomizationNamesEverySampleThatUsersApplyAndNoOther(t *testing.T) {
	files, err := filepath.Glob("../samples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		kind, _ := objects(t, file)[0]["kind"].(string)
		if !slices.Contains(notApplied, kind) {
			want = append(want, filepath.Base(file))
		}
	}
	data, err := os.ReadFile("../samples/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var kustomization struct {
		Resources []string `json:"resources"`
	}
	if err := yaml.Unmarshal(data, &kustomization); err != nil {
		t.Fatal(err)
	}
	if kustomization.Resources[0] != "namespaces.yaml" {
		t.Errorf("the first is %s: the namespaces have to be there first", kustomization.Resources[0])
	}
	slices.Sort(kustomization.Resources)
	if diff := cmp.Diff(want, kustomization.Resources); diff != "" {
		t.Errorf("samples that users apply (-want +got):\n%s", diff)
	}
}

// Each sample in a namespace stands in one that the samples make.
func TestEverySampleStandsInANamespaceThatTheSamplesMake(t *testing.T) {
	made := map[any]bool{}
	for _, ns := range objects(t, "../samples/namespaces.yaml") {
		meta, _ := ns["metadata"].(map[string]any)
		made[meta["name"]] = true
	}
	files, err := filepath.Glob("../samples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		for _, obj := range objects(t, file) {
			meta, _ := obj["metadata"].(map[string]any)
			if ns, ok := meta["namespace"]; ok && !made[ns] {
				t.Errorf("%s stands in namespace %v, which no sample makes", file, ns)
			}
		}
	}
}

func TestThePageOfKindsNamesEachWithItsShortName(t *testing.T) {
	page, err := os.ReadFile("../../docs/kinds.md")
	if err != nil {
		t.Fatal(err)
	}
	defs, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, def := range defs {
		names := def.Spec.Names
		row := fmt.Sprintf("| [%s](#%s) | `%s` |", names.Kind, strings.ToLower(names.Kind), names.ShortNames[0])
		if !strings.Contains(string(page), row) || !strings.Contains(string(page), "\n## "+names.Kind+"\n") {
			t.Errorf("docs/kinds.md has no section of %s, or no row %q", names.Kind, row)
		}
		inNamespace := strings.Contains(string(page), row+" hub, in ")
		if inNamespace != (def.Spec.Scope == apiextensionsv1.NamespaceScoped) {
			t.Errorf("docs/kinds.md says the wrong scope of %s", names.Kind)
		}
	}
}

func TestEverySchemaIsStructural(t *testing.T) {
	for kind, server := range servers(t) {
		if errs := schema.ValidateStructural(field.NewPath(kind), server.Structural()); len(errs) > 0 {
			t.Errorf("an API server refuses the schema of %s:\n%s", kind, text(errs))
		}
	}
}
