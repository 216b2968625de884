// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	rbacv1 "k8s.io/api/rbac/v1"
)

// What the chart renders and whom it grants what, as people read it in a diff. -rewrite makes the files anew.
//
//	render   every file but the definitions, for the values given
//	rights   each role's rules, one right a line, and to whom they are bound
//	notes    what Helm prints after the install
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { datadriven.RunTest(t, file, answer) })
	}
}

func answer(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	if d.Cmd == "rights" {
		return rights(t, d.Input)
	}
	files, err := render(d.Input)
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	switch d.Cmd {
	case "render":
		var out strings.Builder
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if name != "NOTES.txt" && name != "crds.yaml" {
				fmt.Fprintf(&out, "# %s\n%s\n", name, strings.Trim(files[name], "\n"))
			}
		}
		return out.String()
	case "notes":
		return strings.TrimSpace(files["NOTES.txt"]) + "\n"
	}
	t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	return ""
}

func rights(t *testing.T, values string) string {
	t.Helper()
	rules, subjects := map[string][]rbacv1.PolicyRule{}, map[string][]rbacv1.Subject{}
	for _, r := range resources(t, values) {
		switch o := r.object.(type) {
		case *rbacv1.ClusterRole:
			rules["ClusterRole "+o.Name] = o.Rules
		case *rbacv1.Role:
			rules["Role "+o.Namespace+"/"+o.Name] = o.Rules
		case *rbacv1.ClusterRoleBinding:
			subjects["ClusterRole "+o.RoleRef.Name] = o.Subjects
		case *rbacv1.RoleBinding:
			subjects["Role "+o.Namespace+"/"+o.RoleRef.Name] = o.Subjects
		}
	}
	var out strings.Builder
	for _, role := range slices.Sorted(maps.Keys(rules)) {
		for _, s := range subjects[role] {
			fmt.Fprintf(&out, "%s, for %s %s/%s\n", role, s.Kind, s.Namespace, s.Name)
		}
		for _, rule := range rules[role] {
			for _, resource := range rule.Resources {
				group := rule.APIGroups[0]
				if group == "" {
					group = "core"
				}
				named := ""
				if len(rule.ResourceNames) > 0 {
					named = " named " + strings.Join(rule.ResourceNames, ", ")
				}
				fmt.Fprintf(&out, "  %s %s%s: %s\n", group, resource, named, strings.Join(rule.Verbs, " "))
			}
		}
	}
	return out.String()
}
