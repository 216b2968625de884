// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"encoding"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3" //nolint:depguard // sigs.k8s.io/yaml tells no lines.
)

// decoder sets a value from a tree of YAML, strictly, and notes the line of each field.
type decoder struct {
	lines  map[string]int
	errors []fieldError
}

// fieldError is what is wrong with one field.
type fieldError struct {
	line        int
	field, text string
}

func (d *decoder) fail(n *yaml.Node, field, format string, args ...any) {
	if len(d.errors) < maxErrors {
		d.errors = append(d.errors, fieldError{n.Line, field, fmt.Sprintf(format, args...)})
	}
}

// decode sets v, which can be set, from the node.
func (d *decoder) decode(n *yaml.Node, v reflect.Value, field string) {
	d.lines[field] = n.Line
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		d.fail(n, field, "anchors and aliases are not read: write the value out")
		return
	}
	if n.Tag == "!!null" { // As if it were left out.
		return
	}
	if text, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		d.text(n, text, field)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.decode(n, v.Elem(), field)
	case reflect.Struct:
		d.fields(n, v, field)
	case reflect.Slice:
		d.list(n, v, field)
	case reflect.String:
		if d.scalar(n, field, "a text", "!!str") {
			v.SetString(n.Value)
		}
	case reflect.Uint32:
		d.number(n, v, field)
	default:
		panic("table: a document has a field of kind " + v.Kind().String())
	}
}

// scalar says whether the node is one value of the tag.
func (d *decoder) scalar(n *yaml.Node, field, want, tag string) bool {
	switch {
	case n.Kind != yaml.ScalarNode:
		d.fail(n, field, "want %s, found %s", want, kindOf(n))
	case n.Tag != tag && tag == "!!str":
		d.fail(n, field, "want %s, found %s: put it in quotes", want, n.Value)
	case n.Tag != tag:
		d.fail(n, field, "want %s, found %q", want, n.Value)
	default:
		return true
	}
	return false
}

func (d *decoder) text(n *yaml.Node, to encoding.TextUnmarshaler, field string) {
	if n.Kind != yaml.ScalarNode {
		d.fail(n, field, "want one value, found %s", kindOf(n))
		return
	}
	err := to.UnmarshalText([]byte(n.Value))
	if _, address := to.(*netip.Addr); address && err != nil {
		err = fmt.Errorf("%q is no address: give one such as 192.0.2.1 or 2001:db8::1", n.Value)
	}
	if err != nil {
		d.fail(n, field, "%v", err)
	}
}

func (d *decoder) number(n *yaml.Node, v reflect.Value, field string) {
	const want = "a whole number between 0 and 4294967295"
	if !d.scalar(n, field, want, "!!int") {
		return
	}
	i, err := strconv.ParseUint(n.Value, 10, 32)
	if err != nil {
		d.fail(n, field, "want %s, found %q", want, n.Value)
		return
	}
	v.SetUint(i)
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, field string) {
	if n.Kind != yaml.SequenceNode {
		d.fail(n, field, "want a list, found %s", kindOf(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.decode(item, v.Index(i), field+"["+strconv.Itoa(i)+"]")
	}
}

func (d *decoder) fields(n *yaml.Node, v reflect.Value, field string) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, field, "want fields, found %s", kindOf(n))
		return
	}
	places := map[string]int{}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		places[name] = i
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := strings.TrimPrefix(field+"."+key.Value, ".")
		place, known := places[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || !known:
			d.fail(key, at, "there is no such field: %s has %s", orWhole(field), strings.Join(sortedKeys(places), ", "))
		case seen[key.Value]:
			d.fail(key, at, "is there twice: leave one")
		default:
			d.decode(value, v.Field(place), at)
			d.lines[at] = key.Line
		}
		seen[key.Value] = true
	}
}

// lineOf returns the line of the field, or of the nearest one that it is in.
func (d *decoder) lineOf(field string) int {
	for {
		if line, ok := d.lines[field]; ok {
			return line
		}
		cut := strings.LastIndexAny(field, ".[")
		if cut < 0 {
			return 1
		}
		field = field[:cut]
	}
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "fields"
	case yaml.SequenceNode:
		return "a list"
	default:
		return strconv.Quote(n.Value)
	}
}

func orWhole(field string) string {
	if field == "" {
		return "a table"
	}
	return field
}

func sortedKeys(m map[string]int) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
