// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
)

const (
	header = "// Copyright The Weir Authors.\n// SPDX-License-Identifier: Apache-2.0\n\n"

	longFile    = 400  // lines; a discussion
	tooLongFile = 700  // lines; two ideas in one file
	tooLongTest = 1500 // lines; a table to be split by theme
)

// The patterns are pieced together so that this file does not break its own rules.
var (
	leftover  = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	machine   = regexp.MustCompile(`(^|[\s"'=:(` + "`" + `])(/ro` + `ot/|/ho` + `me/[a-z]|/Us` + `ers/|/wo` + `rk/(main|shared)\b|/tm` + `p/(weir|cp)\b)`)
	skipped   = regexp.MustCompile(`\b(t|b|f|tb)\.Skip(f|Now)?\(`)
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
)

func checkFiles(files []file) []finding {
	var found []finding
	for _, f := range files {
		found = append(found, checkLines(f)...)
		if path.Ext(f.path) == ".go" && !generated.Match(f.body) {
			found = append(found, checkGo(f)...)
		}
	}
	return found
}

// checkLines holds for every text file. Checksums and licences are not ours to word.
func checkLines(f file) []finding {
	base := path.Base(f.path)
	if base == "go.sum" || base == "LICENSE" || strings.Contains(f.path, "testdata/") {
		return nil
	}
	var found []finding
	number := 0
	for line := range bytes.Lines(f.body) {
		number++
		if word := leftover.Find(line); word != nil {
			found = append(found, finding{path: f.path, line: number, text: fmt.Sprintf("%s: do it now, or leave it out", word)})
		}
		if match := machine.FindSubmatch(line); match != nil {
			found = append(found, finding{path: f.path, line: number, text: fmt.Sprintf("names a path of one machine: %s", match[2])})
		}
	}
	return found
}

func checkGo(f file) []finding {
	var found []finding
	if !bytes.HasPrefix(f.body, []byte(header)) {
		found = append(found, finding{path: f.path, line: 1, text: "starts without the licence header and a blank line"})
	}
	if at := skipped.FindIndex(f.body); at != nil && strings.HasSuffix(f.path, "_test.go") {
		line := 1 + bytes.Count(f.body[:at[0]], []byte("\n"))
		found = append(found, finding{path: f.path, line: line, text: "skips a test: make it run, or remove it"})
	}
	lines, limit := bytes.Count(f.body, []byte("\n")), tooLongFile
	if strings.HasSuffix(f.path, "_test.go") {
		limit = tooLongTest
	}
	switch {
	case lines > limit:
		found = append(found, finding{path: f.path, text: fmt.Sprintf("has %d lines, over %d: split it by idea", lines, limit)})
	case lines > longFile && limit == tooLongFile:
		found = append(found, finding{path: f.path, text: fmt.Sprintf("has %d lines, over %d", lines, longFile), warn: true})
	}
	return found
}
