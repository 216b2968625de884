// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3" //nolint:depguard // sigs.k8s.io/yaml tells no lines.
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// A document is one document of a file.
type document struct {
	file  string
	first int // line of the file that it begins in, from 1
	data  []byte

	lines  *yamlv3.Node // for lines only; nil: not read yet, or not readable
	parsed bool
}

// documents takes a file apart at lines of three dashes.
func documents(f File) []*document {
	var out []*document
	current := &document{file: f.Name, first: 1}
	line := 0
	for text := range bytes.Lines(f.Data) {
		line++
		if rest, ok := bytes.CutPrefix(text, []byte("---")); ok && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0]))) {
			out = append(out, current)
			// What follows the dashes on their line, a comment mostly, is kept with its line.
			current = &document{file: f.Name, first: line, data: append([]byte("   "), rest...)}
			continue
		}
		current.data = append(current.data, text...)
	}
	return append(out, current)
}

// decode returns the document as JSON has it, whole numbers as int64. A document without content is nil.
func (d *document) decode() (any, error) {
	text, err := yaml.YAMLToJSONStrict(d.data)
	if err != nil {
		return nil, err
	}
	var value any
	if err := utiljson.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	return value, nil
}

var lineOf = regexp.MustCompile(`line ([0-9]+)`)

// syntax is the fault of a document that is no YAML, with the line that its decoder names.
func (d *document) syntax(err error) *FaultError {
	message := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	message = strings.TrimPrefix(message, "yaml: ")
	message = strings.TrimPrefix(message, "unmarshal errors:\n")
	line := d.first
	if match := lineOf.FindStringSubmatchIndex(message); match != nil {
		if n, err := strconv.Atoi(message[match[2]:match[3]]); err == nil {
			// At the end of the text the decoder counts a line more than there is.
			last := bytes.Count(bytes.TrimSuffix(d.data, []byte("\n")), []byte("\n"))
			line = d.first + min(n-1, last)
			message = strings.TrimLeft(message[:match[0]]+message[match[1]:], ": \n")
		}
	}
	return &FaultError{File: d.file, Line: line, Message: "is no YAML: " + strings.Join(strings.Fields(message), " ")}
}

// fault is one about a field of the object at a place in the document.
func (d *document) fault(at, field, message string) *FaultError {
	if field == "<nil>" {
		field = ""
	}
	return &FaultError{File: d.file, Line: d.line(at, field), Field: field, Message: message}
}

// where is the place of an object, as FILE:LINE.
func (d *document) where(at string) string { return fmt.Sprintf("%s:%d", d.file, d.line(at, "")) }

// line is where a field stands, or the innermost field around it that is there.
func (d *document) line(at, field string) int {
	if !d.parsed {
		d.parsed = true
		node := &yamlv3.Node{}
		if err := yamlv3.Unmarshal(d.data, node); err == nil && len(node.Content) == 1 {
			d.lines = node.Content[0]
		}
	}
	if d.lines == nil {
		return d.first
	}
	node, line := descend(d.lines, at, d.lines.Line)
	_, line = descend(node, field, line)
	return d.first + line - 1
}

// descend follows a path such as spec.nodes[0].labels[a/b] as far as it goes, and returns where it ends and in which line.
func descend(node *yamlv3.Node, path string, line int) (*yamlv3.Node, int) {
	for path != "" {
		for node.Kind == yamlv3.AliasNode {
			node = node.Alias
		}
		next, key, rest := step(node, strings.TrimPrefix(path, "."))
		if next == nil {
			break
		}
		node, line, path = next, key.Line, rest
	}
	return node, line
}

// step takes the first part off a path: [3] or [key] or key. Nil: the node has no such part.
func step(node *yamlv3.Node, path string) (next, key *yamlv3.Node, rest string) {
	bracket, after, closed := strings.Cut(strings.TrimPrefix(path, "["), "]")
	bracketed := closed && strings.HasPrefix(path, "[")
	switch node.Kind {
	case yamlv3.SequenceNode:
		if i, err := strconv.Atoi(bracket); err == nil && bracketed && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i], after
		}
	case yamlv3.MappingNode:
		best := -1
		for i := 0; i+1 < len(node.Content); i += 2 {
			name := node.Content[i].Value
			tail, begins := begins(path, name)
			if bracketed {
				tail, begins = after, name == bracket
			}
			// Keys may have dots in them, so the longest one that fits is taken.
			if begins && (best < 0 || len(name) > len(node.Content[best].Value)) {
				best, rest = i, tail
			}
		}
		if best >= 0 {
			return node.Content[best+1], node.Content[best], rest
		}
	case yamlv3.DocumentNode, yamlv3.AliasNode, yamlv3.ScalarNode:
	}
	return nil, nil, ""
}

// begins reports whether name is a first part of the path, and what is left after it.
func begins(path, name string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, name)
	return rest, ok && name != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
