// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	codesDir = "mesh/shift/"        // the package that declares the codes, as constants of type Code
	runbook  = "docs/operations.md" // the table that explains them, one row each
)

// codeRow is a row of the runbook's table: its first cell is a code.
var codeRow = regexp.MustCompile("^\\| `([A-Z][A-Za-z]+)` \\|")

// checkCodes wants the runbook to explain every reason to wait that the code can give, and no other.
func checkCodes(files []file) []finding {
	declared := map[string]bool{}
	for _, f := range files {
		if strings.HasPrefix(f.path, codesDir) && strings.HasSuffix(f.path, ".go") && !strings.HasSuffix(f.path, "_test.go") {
			for _, name := range constantsOf(f, "Code") {
				declared[name] = true
			}
		}
	}
	at := slices.IndexFunc(files, func(f file) bool { return f.path == runbook })
	if at < 0 {
		return []finding{{path: runbook, text: "is missing"}}
	}
	var found []finding
	explained := map[string]bool{}
	number := 0
	for line := range bytes.Lines(files[at].body) {
		number++
		match := codeRow.FindSubmatch(line)
		if match == nil {
			continue
		}
		code := string(match[1])
		explained[code] = true
		if !declared[code] {
			found = append(found, finding{path: runbook, line: number, text: fmt.Sprintf("explains %s, which %s does not declare", code, codesDir)})
		}
	}
	for _, code := range slices.Sorted(maps.Keys(declared)) {
		if !explained[code] {
			found = append(found, finding{path: runbook, text: fmt.Sprintf("does not explain %s", code)})
		}
	}
	return found
}

// constantsOf names the exported constants of a type in a file; within a group the type carries on, as with iota.
func constantsOf(f file, typeName string) []string {
	parsed, err := parser.ParseFile(token.NewFileSet(), f.path, f.body, parser.SkipObjectResolution)
	if err != nil {
		return nil // checkPackages tells.
	}
	var names []string
	for _, decl := range parsed.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		current := ""
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			if ident, ok := value.Type.(*ast.Ident); ok {
				current = ident.Name
			} else if value.Type != nil || len(value.Values) > 0 {
				current = ""
			}
			for _, name := range value.Names {
				if current == typeName && name.IsExported() {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}
