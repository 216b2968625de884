// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// AnnotationApplied holds a hash of what weir applied last, so that a field that weir no longer states is noticed.
const AnnotationApplied = "weir.io/applied"

// marked returns a copy that carries weir's label and the hash of what it states.
func marked(want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(want.Object)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	out := want.DeepCopy()
	out.SetLabels(with(out.GetLabels(), LabelManaged, LabelManagedValue))
	out.SetAnnotations(with(out.GetAnnotations(), AnnotationApplied, hex.EncodeToString(sum[:16])))
	return out, nil
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// stands says whether live was made by this very statement and everything in it is still so. What others added beside
// it, and what the API server filled in, does not count.
func stands(want, live *unstructured.Unstructured) bool {
	a, b := plain(want.Object), plain(live.Object)
	return live.GetAnnotations()[AnnotationApplied] == want.GetAnnotations()[AnnotationApplied] && within(a, b)
}

// within says whether every field of a is so in b. Lists must match item by item.
func within(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		m, ok := b.(map[string]any)
		if !ok {
			return len(a) == 0 && b == nil
		}
		for k, v := range a {
			if !within(v, m[k]) {
				return false
			}
		}
		return true
	case []any:
		l, ok := b.([]any)
		if !ok || len(l) != len(a) {
			return len(a) == 0 && b == nil
		}
		for i := range a {
			if !within(a[i], l[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

// plain brings a value to the types that JSON gives, so that 1 and 1.0 of two sources compare equal.
func plain(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var out any
	if json.Unmarshal(raw, &out) != nil {
		return v
	}
	return out
}

// Timeless takes the times out of conditions, in place: two statuses that say the same may say it since another time.
func Timeless(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "lastTransitionTime")
		for k := range v {
			v[k] = Timeless(v[k])
		}
	case []any:
		for i := range v {
			v[i] = Timeless(v[i])
		}
	}
	return v
}
