// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package override

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/weir-io/weir/api/v1alpha1"
)

// For returns the overrides of one cluster and where they stand in the spec.
func For(all []v1alpha1.ClusterOverride, cluster string) ([]v1alpha1.FieldOverride, *field.Path) {
	for i, o := range all {
		if o.ClusterName == cluster {
			return o.ClusterOverrides, field.NewPath("spec", "overrides").Index(i).Child("clusterOverrides")
		}
	}
	return nil, nil
}

// Apply returns the object with every change made, in order. The object stays as it is; what does not change is shared with
// it. Errors name fields below path.
func Apply(object map[string]any, changes []v1alpha1.FieldOverride, path *field.Path) (map[string]any, field.ErrorList) {
	var errs field.ErrorList
	for i, change := range changes {
		var value any
		if err := decode(change.Value.Raw, &value); err != nil {
			errs = append(errs, field.Invalid(path.Index(i).Child("value"), string(change.Value.Raw), "is no JSON"))
			continue
		}
		changed, err := set(object, tokens(string(change.Path)), value)
		if err != nil {
			errs = append(errs, field.Invalid(path.Index(i).Child("path"), string(change.Path), err.Error()))
			continue
		}
		object = changed.(map[string]any)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return object, nil
}

// tokens of a pointer, with what is escaped in them put back.
func tokens(pointer string) []string {
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(parts[i], "~1", "/"), "~0", "~")
	}
	return parts
}

// set returns a copy of the node in which the value stands at the end of the way.
func set(node any, way []string, value any) (any, error) {
	if len(way) == 0 {
		return value, nil
	}
	switch node := node.(type) {
	case nil:
		inner, err := set(nil, way[1:], value)
		return map[string]any{way[0]: inner}, err
	case map[string]any:
		inner, err := set(node[way[0]], way[1:], value)
		if err != nil {
			return nil, err
		}
		node = maps.Clone(node)
		if node == nil {
			node = map[string]any{}
		}
		node[way[0]] = inner
		return node, nil
	case []any:
		i, err := strconv.Atoi(way[0])
		if err != nil || i < 0 || i >= len(node) || strconv.Itoa(i) != way[0] {
			return nil, fmt.Errorf("%q is no element of a list of %d: count from 0, and change elements that are there", way[0], len(node))
		}
		inner, err := set(node[i], way[1:], value)
		if err != nil {
			return nil, err
		}
		node = slices.Clone(node)
		node[i] = inner
		return node, nil
	}
	return nil, fmt.Errorf("there is a plain value where %q should be looked for: end the path before it", way[0])
}
