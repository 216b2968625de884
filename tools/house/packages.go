// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

// nameless are package names that say only that their author had none.
var nameless = []string{"util", "utils", "common", "helper", "helpers", "manager", "misc", "shared", "base", "lib"}

// checkPackages wants each package named for what it is, and its purpose told in one place that a reader can guess.
func checkPackages(files []file) []finding {
	packages := map[string]string{} // directory → package name
	documented := map[string]bool{}
	var found []finding
	for _, f := range files {
		if path.Ext(f.path) != ".go" || strings.HasSuffix(f.path, "_test.go") || strings.Contains(f.path, "testdata/") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.path, f.body, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			found = append(found, finding{path: f.path, text: err.Error()})
			continue
		}
		dir, name := path.Dir(f.path), parsed.Name.Name
		packages[dir] = name
		base := path.Base(f.path)
		if hasDoc(parsed) && (base == "doc.go" || name == "main" && base == "main.go") {
			documented[dir] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		if slices.Contains(nameless, packages[dir]) || slices.Contains(nameless, path.Base(dir)) {
			found = append(found, finding{path: dir, text: "is named for no purpose: name the package for what it is"})
		}
		if !documented[dir] {
			found = append(found, finding{path: dir, text: "has no doc.go with the package's purpose, promises and what it never does"})
		}
	}
	return found
}

func hasDoc(f *ast.File) bool {
	return f.Doc != nil && len(strings.Fields(f.Doc.Text())) > 3
}
