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

var (
	targetDecl = regexp.MustCompile(`(?m)^([a-z][a-z0-9/-]*):`)
	// In a block of code a command begins its line; in a sentence it stands in backquotes.
	makeLine   = regexp.MustCompile(`^\s*(?:[A-Z]+=\S* )*make ([a-z][a-z0-9-]*(?: [a-z][a-z0-9-]*)*)`)
	makeInline = regexp.MustCompile("`(?:[A-Z]+=[^ `]* )*make ([a-z][a-z0-9-]*(?: [a-z][a-z0-9-]*)*)[^`]*`")
)

// checkCommands wants each `make` that a document tells to be one that the Makefile knows.
func checkCommands(files []file) []finding {
	targets := map[string]bool{}
	for _, f := range files {
		if f.path == "Makefile" {
			for _, m := range targetDecl.FindAllSubmatch(f.body, -1) {
				targets[string(m[1])] = true
			}
		}
	}
	var found []finding
	for _, f := range files {
		if path.Ext(f.path) != ".md" {
			continue
		}
		code, number := false, 0
		for line := range bytes.Lines(f.body) {
			number++
			if bytes.HasPrefix(bytes.TrimSpace(line), []byte("```")) {
				code = !code
				continue
			}
			for _, target := range made(string(line), code) {
				if !targets[target] {
					found = append(found, finding{path: f.path, line: number, text: fmt.Sprintf("tells to run make %s, which the Makefile does not know", target)})
				}
			}
		}
	}
	return found
}

// made gives the targets that a line tells to make.
func made(line string, code bool) []string {
	told := makeInline
	if code {
		told = makeLine
	}
	var targets []string
	for _, m := range told.FindAllStringSubmatch(line, -1) {
		targets = append(targets, strings.Fields(m[1])...)
	}
	return targets
}
