// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// lintFile lists the modules that the linter runs on.
const lintFile = "hack/lint.sh"

// checkModules wants each module that has tests to be tested by a recipe of the Makefile or by a script in hack, and to be
// linted: `go test ./...` and the linter stop at a module's border without a word.
func checkModules(files []file) []finding {
	var found []finding
	for _, dir := range slices.Sorted(maps.Keys(tested(files))) {
		if dir == "." {
			continue
		}
		name := regexp.QuoteMeta(dir)
		here := regexp.MustCompile(`(?m)\bcd ` + name + ` && .*\btest\b`)
		whole := regexp.MustCompile(`(?m)^cd "\$\(dirname "\$0"\)/\.\./` + name + `"$`)
		run, linted := false, false
		for _, f := range files {
			script := path.Dir(f.path) == "hack"
			run = run || (script || f.path == "Makefile") && here.Match(f.body)
			run = run || script && whole.Match(f.body) && bytes.Contains(f.body, []byte("\ngo test "))
			linted = linted || f.path == lintFile && bytes.Contains(f.body, []byte(dir))
		}
		if !run {
			found = append(found, finding{path: dir + "/go.mod", text: "has tests that neither the Makefile nor a script in hack runs"})
		}
		if !linted {
			found = append(found, finding{path: dir + "/go.mod", text: fmt.Sprintf("is a module that %s does not name", lintFile)})
		}
	}
	return found
}

// tested gives the directories of the modules that have a test.
func tested(files []file) map[string]bool {
	modules := map[string]bool{}
	for _, f := range files {
		if path.Base(f.path) == "go.mod" {
			modules[path.Dir(f.path)] = true
		}
	}
	with := map[string]bool{}
	for _, f := range files {
		if !strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		dir := path.Dir(f.path)
		for dir != "." && !modules[dir] {
			dir = path.Dir(dir)
		}
		with[dir] = true
	}
	return with
}
