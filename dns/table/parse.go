// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3" //nolint:depguard // sigs.k8s.io/yaml tells no lines.

	"github.com/weir-io/weir/dns/zone"
)

const (
	maxBytes  = 16 << 20
	maxErrors = 20
	maxText   = 1024 // of one error, in bytes
)

// Loaded is a table and what it was made of.
type Loaded struct {
	// Document as the file has it.
	Document zone.Document
	// Table made of it.
	Table *zone.Table
}

// Load reads a file.
func Load(path string) (Loaded, error) {
	// To open a pipe waits for its writer, and no signal ends that.
	info, err := os.Stat(path)
	if err != nil {
		return Loaded{}, fmt.Errorf("read the table: %w", err)
	}
	if !info.Mode().IsRegular() {
		return Loaded{}, fmt.Errorf("read the table: %s is no regular file: name one that can be read again", path)
	}
	f, err := os.Open(path) //nolint:gosec // The path is the operator's choice.
	if err != nil {
		return Loaded{}, fmt.Errorf("read the table: %w", err)
	}
	defer f.Close() //nolint:errcheck // It was only read.
	raw, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return Loaded{}, fmt.Errorf("read the table: %w", err)
	}
	return Parse(path, raw)
}

// Parse makes a table of the content of a file. An error names the file, and each thing wrong with line and field.
func Parse(path string, raw []byte) (Loaded, error) {
	if len(raw) > maxBytes {
		return Loaded{}, fmt.Errorf("%s: a table of more than %d MiB is not read: split it over several servers", path, maxBytes>>20)
	}
	root, err := tree(path, raw)
	if err != nil {
		return Loaded{}, err
	}
	var out Loaded
	d := decoder{lines: map[string]int{}}
	d.decode(root, reflect.ValueOf(&out.Document).Elem(), "")
	if len(d.errors) == 0 {
		var wrong []zone.FieldError
		out.Table, wrong = zone.Compile(out.Document)
		for _, e := range wrong {
			d.errors = append(d.errors, fieldError{d.lineOf(e.Field), e.Field, e.Text})
		}
	}
	if len(d.errors) > 0 {
		return Loaded{}, join(path, d.errors)
	}
	return out, nil
}

// tree reads the one document that the file shall have.
func tree(path string, raw []byte) (*yaml.Node, error) {
	var root, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s: the file is empty: a table without zones is written {}", path)
	case err != nil:
		return nil, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: there is more than one document in the file: leave one", path)
	}
	content := root.Content[0]
	if content.Tag == "!!null" {
		return nil, fmt.Errorf("%s: the file is empty: a table without zones is written {}", path)
	}
	return content, nil
}

// join makes one error of all, in the order of the file.
func join(path string, all []fieldError) error {
	slices.SortStableFunc(all, func(a, b fieldError) int { return cmp.Compare(a.line, b.line) })
	lines := make([]string, 0, len(all))
	for _, e := range all {
		at := fmt.Sprintf("%s:%d: ", path, e.line)
		if e.field != "" {
			at += clip(e.field) + ": "
		}
		lines = append(lines, at+clip(e.text))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// clip shortens what a message repeats of the file, which may be all of it.
func clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText/2], "") + " … " + strings.ToValidUTF8(text[len(text)-maxText/2:], "")
}
