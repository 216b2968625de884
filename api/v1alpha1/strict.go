// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	gojson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/json"
)

// maxFaults is how many wrong fields of one template are told at once.
const maxFaults = 8

// decodeStrict decodes a template's field at path and names the first fields that its kind does not have (Invalid), or
// that are of another type (TypeInvalid). Names are read as an API server reads them, in which Replicas is not replicas.
//
// A decoder tells of a wrong value only now and then where it stands, and of a wrong quantity never. So where decoding
// fails, smaller and smaller parts of the document are decoded until each fault stands alone.
func decodeStrict(data []byte, into any, path *field.Path, kind string) field.ErrorList {
	again := reflect.TypeOf(into).Elem()
	strict, err := json.UnmarshalStrict(data, into)
	if err == nil && len(strict) == 0 {
		return nil
	}
	var whole any
	numbers := gojson.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber()
	if wrong := numbers.Decode(&whole); wrong != nil {
		return field.ErrorList{field.Invalid(path, "", fmt.Sprintf("is not the spec of a %s: %v", kind, wrong))}
	}
	h := &hunt{kind: kind, root: path, typ: again}
	h.visit(nil, whole)
	if len(h.faults) > 0 {
		return h.faults
	}
	for _, e := range strict {
		// No part is wrong by itself: a name is there twice.
		where := path
		if named, ok := errors.AsType[json.FieldError](e); ok {
			where = path.Child(named.FieldPath())
		}
		h.faults = append(h.faults, field.Invalid(where, "", "is there twice: remove one of them"))
	}
	if err != nil {
		h.faults = append(h.faults, field.Invalid(path, "", fmt.Sprintf("is not the spec of a %s: %v", kind, err)))
	}
	return h.faults
}

// hunt looks for the places where a document is not of its type.
type hunt struct {
	kind   string // what the type is to the user
	root   *field.Path
	typ    reflect.Type
	faults field.ErrorList
}

// step is a name in an object, or, where list is true, a place in a list.
type step struct {
	name  string
	index int
	list  bool
}

type child struct {
	step
	value any
}

// visit finds what is wrong at the end of a way and below it.
func (h *hunt) visit(way []step, node any) {
	var children []child
	alone := node // the node without what is below it
	switch node := node.(type) {
	case map[string]any:
		alone = map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(node)) {
			children = append(children, child{step{name: name}, node[name]})
		}
	case []any:
		alone = []any{}
		for i, value := range node {
			children = append(children, child{step{index: i, list: true}, value})
		}
	}
	if _, err := h.probe(way, alone); err != nil {
		h.faults = append(h.faults, field.TypeInvalid(h.path(way), shown(node), expected(err)))
		return
	}
	h.among(way, children)
}

// among visits those of the children that something is wrong with. It halves them, since mostly it is one of many.
func (h *hunt) among(way []step, children []child) {
	if len(children) == 0 || len(h.faults) >= maxFaults {
		return
	}
	if unknown, err := h.probe(way, assembled(children)); !unknown && err == nil {
		return
	}
	if len(children) > 1 {
		h.among(way, children[:len(children)/2])
		h.among(way, children[len(children)/2:])
		return
	}
	next := append(slices.Clip(way), children[0].step)
	if unknown, _ := h.probe(next, nil); unknown {
		h.faults = append(h.faults, field.Invalid(h.path(next), children[0].name,
			"the "+h.kind+" that this weir knows has no such field: correct its name, or remove it"))
		return
	}
	h.visit(next, children[0].value)
}

// probe decodes a document in which there is nothing but a value at the end of a way. No type minds a null.
func (h *hunt) probe(way []step, value any) (unknown bool, err error) {
	for _, s := range slices.Backward(way) {
		value = assembled([]child{{s, value}})
	}
	data, err := gojson.Marshal(value)
	if err != nil {
		return false, err
	}
	strict, err := json.UnmarshalStrict(data, reflect.New(h.typ).Interface())
	return len(strict) > 0, err
}

func (h *hunt) path(way []step) *field.Path {
	path := h.root
	for _, s := range way {
		if s.list {
			path = path.Index(s.index)
		} else {
			path = path.Child(s.name)
		}
	}
	return path
}

// assembled is the object or the list of some children.
func assembled(children []child) any {
	if children[0].list {
		list := make([]any, 0, len(children))
		for _, c := range children {
			list = append(list, c.value)
		}
		return list
	}
	object := make(map[string]any, len(children))
	for _, c := range children {
		object[c.name] = c.value
	}
	return object
}

// shown is a value as a message gives it: what is inside is not repeated.
func shown(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return "{…}"
	case []any:
		return "[…]"
	case gojson.Number:
		return value.String()
	}
	return value
}

// expected is what should stand where decoding failed, in words.
func expected(err error) string {
	if errors.Is(err, resource.ErrFormatWrong) || errors.Is(err, resource.ErrNumeric) || errors.Is(err, resource.ErrSuffix) {
		return "must be a quantity: a number with or without a unit, such as 500m or 2Gi"
	}
	wrong, ok := errors.AsType[*gojson.UnmarshalTypeError](err)
	if !ok {
		return err.Error()
	}
	switch kind := wrong.Type.Kind(); {
	case kind == reflect.String:
		return "must be text: put it in quotes"
	case kind == reflect.Bool:
		return "must be true or false"
	case kind == reflect.Slice || kind == reflect.Array:
		return "must be a list"
	case kind == reflect.Map || kind == reflect.Struct:
		return "must be an object, with a name for each value"
	case kind >= reflect.Int && kind <= reflect.Uint64:
		return fmt.Sprintf("must be a whole number of at most %d bits", wrong.Type.Bits())
	}
	return "must be a " + wrong.Type.String()
}
