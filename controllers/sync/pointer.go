// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/weir-io/weir/api/v1alpha1"
)

// decode reads JSON with whole numbers as int64, as unstructured objects hold them.
func decode(raw []byte, to any) error {
	switch to.(type) {
	case *map[string]any, *any:
		return utiljson.Unmarshal(raw, to)
	}
	return json.Unmarshal(raw, to)
}

// steps of a JSON pointer, with what is escaped in them put back.
func steps(path v1alpha1.FieldPath) []string {
	parts := strings.Split(strings.TrimPrefix(string(path), "/"), "/")
	for i := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(parts[i], "~1", "/"), "~0", "~")
	}
	return parts
}

// at is what stands at the end of a way.
func at(node any, way []string) (any, bool) {
	for _, step := range way {
		switch n := node.(type) {
		case map[string]any:
			next, there := n[step]
			if !there {
				return nil, false
			}
			node = next
		case []any:
			i, ok := element(n, step)
			if !ok {
				return nil, false
			}
			node = n[i]
		default:
			return nil, false
		}
	}
	return node, true
}

func element(list []any, step string) (int, bool) {
	i, err := strconv.Atoi(step)
	return i, err == nil && i >= 0 && i < len(list)
}

// put returns a copy of a node in which a value stands at the end of the way, or nothing where there is none to stand
// there. A way that ends early in the node changes nothing.
func put(node any, way []string, value any, there bool) any {
	if len(way) == 0 {
		return value
	}
	switch n := node.(type) {
	case nil:
		if !there {
			return nil
		}
		return map[string]any{way[0]: put(nil, way[1:], value, there)}
	case map[string]any:
		out := maps.Clone(n)
		if len(way) == 1 && !there {
			delete(out, way[0])
			return out
		}
		next := put(n[way[0]], way[1:], value, there)
		if next != nil {
			out[way[0]] = next
		}
		return out
	case []any:
		i, ok := element(n, way[0])
		if !ok {
			return node
		}
		out := slices.Clone(n)
		if len(way) == 1 && !there {
			return slices.Delete(out, i, i+1)
		}
		out[i] = put(n[i], way[1:], value, there)
		return out
	}
	return node
}
