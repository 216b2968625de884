// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// A finding is one breach of a rule.
type finding struct {
	path string
	line int // 0: the whole file
	text string
	warn bool // told, but does not fail the run
}

func (f finding) String() string {
	kind := ""
	if f.warn {
		kind = "warning: "
	}
	if f.line == 0 {
		return fmt.Sprintf("%s: %s%s", f.path, kind, f.text)
	}
	return fmt.Sprintf("%s:%d: %s%s", f.path, f.line, kind, f.text)
}

// A file is one text file of the repository, by its path from the root.
type file struct {
	path string
	body []byte
}

// run checks the repository at root, prints what it found and returns the exit code: 0 clean, 1 findings, 2 trouble.
func run(ctx context.Context, root string, out io.Writer) (int, error) {
	files, err := load(ctx, root)
	if err != nil {
		return 2, err
	}
	findings := slices.Concat(checkFiles(files), checkPackages(files), checkTrace(files), checkCodes(files), checkModules(files), checkCommands(files))
	slices.SortStableFunc(findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line))
	})
	failed := 0
	for _, f := range findings {
		fmt.Fprintln(out, f)
		if !f.warn {
			failed++
		}
	}
	if failed > 0 {
		return 1, fmt.Errorf("%d findings", failed)
	}
	fmt.Fprintf(out, "house: ok, %d files\n", len(files))
	return 0, nil
}

// load reads every text file that git tracks or would add. A file that was removed but not yet committed is left out.
func load(ctx context.Context, root string) ([]file, error) {
	list := exec.CommandContext(ctx, "git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Stderr = os.Stderr
	names, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", root, err)
	}
	var files []file
	for name := range bytes.SplitSeq(bytes.TrimRight(names, "\x00"), []byte{0}) {
		path := string(name)
		info, err := os.Lstat(filepath.Join(root, path))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		body, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		if bytes.IndexByte(body[:min(len(body), 8000)], 0) < 0 {
			files = append(files, file{path: path, body: body})
		}
	}
	return files, nil
}
