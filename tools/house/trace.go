// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// traceFile maps requirements to places and tests, in rows of four columns:
//
//	| ID | promise | kept in `path`, … | `path` `TestName`, … |
const traceFile = "docs/traceability.md"

var (
	requirement = regexp.MustCompile(`^([A-Z]+)([1-9][0-9]*)$`)
	quoted      = regexp.MustCompile("`([^`]+)`")
	testName    = regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)[A-Za-z0-9_]*$`)
	testDecl    = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)[A-Za-z0-9_]*)\(`)
)

// families are the requirements there are: each letter with its highest number.
var families = map[string]int{"I": 7, "R": 85, "S": 66, "A": 59, "C": 39, "M": 25, "D": 10, "O": 38}

// checkTrace wants every row to name a requirement that there is and no other row names, at least one place that exists, and at
// least one test of its last column, where each test stands after the directory that declares it.
func checkTrace(files []file) []finding {
	at := slices.IndexFunc(files, func(f file) bool { return f.path == traceFile })
	if at < 0 {
		return []finding{{path: traceFile, text: "is missing"}}
	}
	known := index(files)
	seen := map[string]bool{}
	var found []finding
	number := 0
	for line := range bytes.Lines(files[at].body) {
		number++
		row, ok := parseRow(string(line))
		if !ok {
			continue
		}
		for _, text := range known.check(row, seen) {
			found = append(found, finding{path: traceFile, line: number, text: text})
		}
	}
	if len(seen) == 0 {
		found = append(found, finding{path: traceFile, text: "has no row"})
	}
	return found
}

// A traceRow is one requirement with the places and tests that its row quotes.
type traceRow struct {
	id             string
	places, proofs []string
}

// parseRow takes a row of the table apart; heads, rulers and prose are not rows.
func parseRow(line string) (traceRow, bool) {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	if len(cells) != 4 || !requirement.MatchString(strings.TrimSpace(cells[0])) {
		return traceRow{}, false
	}
	return traceRow{id: strings.TrimSpace(cells[0]), places: quotes(cells[2]), proofs: quotes(cells[3])}, true
}

func quotes(cell string) []string {
	var texts []string
	for _, match := range quoted.FindAllStringSubmatch(cell, -1) {
		texts = append(texts, match[1])
	}
	return texts
}

// A treeIndex knows what exists in the repository.
type treeIndex struct {
	paths map[string]bool
	tests map[string][]string // test name → directories that declare it
}

func index(files []file) treeIndex {
	known := treeIndex{paths: map[string]bool{}, tests: map[string][]string{}}
	for _, f := range files {
		for p := f.path; p != "."; p = path.Dir(p) {
			known.paths[p] = true
		}
		if !strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		for _, match := range testDecl.FindAllSubmatch(f.body, -1) {
			name := string(match[1])
			known.tests[name] = append(known.tests[name], path.Dir(f.path))
		}
	}
	return known
}

// check returns what is wrong with a row, and notes its requirement as seen.
func (known treeIndex) check(row traceRow, seen map[string]bool) []string {
	var wrong []string
	if seen[row.id] {
		wrong = append(wrong, fmt.Sprintf("%s has a row already", row.id))
	}
	seen[row.id] = true
	family := requirement.FindStringSubmatch(row.id)
	if number, err := strconv.Atoi(family[2]); err != nil || number > families[family[1]] {
		wrong = append(wrong, fmt.Sprintf("there is no requirement %s", row.id))
	}
	if len(row.places) == 0 {
		wrong = append(wrong, fmt.Sprintf("%s names no place that keeps it", row.id))
	}
	for _, place := range row.places {
		if !known.paths[strings.TrimSuffix(place, "/")] {
			wrong = append(wrong, fmt.Sprintf("%s: %s does not exist", row.id, place))
		}
	}
	dir, tests := "", 0
	for _, proof := range row.proofs {
		switch {
		case !testName.MatchString(proof):
			dir = strings.TrimSuffix(proof, "/")
			if !known.paths[dir] {
				wrong = append(wrong, fmt.Sprintf("%s: %s does not exist", row.id, proof))
			}
		case dir == "" || !slices.Contains(known.tests[proof], dir):
			wrong = append(wrong, fmt.Sprintf("%s: no test %s in %q", row.id, proof, dir))
		default:
			tests++
		}
	}
	if tests == 0 {
		wrong = append(wrong, fmt.Sprintf("%s names no test", row.id))
	}
	return wrong
}
