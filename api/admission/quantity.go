// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// quantities names those that have the form of a quantity and cannot be read, as with an exponent of twenty digits. A
// schema lets them pass, and an object that holds one does not decode.
func quantities(path *field.Path, value any, s *schema.Structural) field.ErrorList {
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	switch value := value.(type) {
	case string:
		// Whole numbers or strings are quantities in this API, and nothing else is.
		if s.XIntOrString {
			if _, err := resource.ParseQuantity(value); err != nil {
				errs = append(errs, field.Invalid(path, value, "is a quantity that cannot be read: write it with a suffix, such as 64Gi"))
			}
		}
	case []any:
		for i, element := range value {
			errs = append(errs, quantities(path.Index(i), element, s.Items)...)
		}
	case map[string]any:
		for name, element := range value {
			child := path.Child(name)
			if property, ok := s.Properties[name]; ok {
				errs = append(errs, quantities(child, element, &property)...)
			} else if s.AdditionalProperties != nil {
				errs = append(errs, quantities(child, element, s.AdditionalProperties.Structural)...)
			}
		}
	}
	return errs
}
