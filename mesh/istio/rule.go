// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Rule is an object of the API server that may say how a host is reached: a
// VirtualService, a DestinationRule, a Sidecar or a route of the Gateway API.
// Foreign passes over all other kinds.
type Rule struct {
	Kind, Namespace, Name string
	Labels                map[string]string
	// Managers are the field managers that own something in it.
	Managers []Manager
	Spec     map[string]any
}

// Manager is one entry of an object's managedFields.
type Manager struct {
	Name string
	// Subresource is "status" for a writer of status alone.
	Subresource string
	// Fields is the entry's fieldsV1.
	Fields map[string]any
}

// ParseRule reads a Rule from an unstructured object. The object must come with
// its managedFields: without them weir could not know its own rules. Spec and
// fields are shared with the object, not copied.
func ParseRule(obj map[string]any) (Rule, error) {
	meta := field(obj, "metadata")
	r := Rule{
		Kind:      text(obj, "kind"),
		Namespace: text(meta, "namespace"),
		Name:      text(meta, "name"),
		Labels:    map[string]string{},
		Spec:      field(obj, "spec"),
	}
	if r.Kind == "" || r.Name == "" {
		return Rule{}, errors.New("read rule: object has no kind or no name")
	}
	for k := range field(meta, "labels") {
		r.Labels[k] = text(field(meta, "labels"), k)
	}
	for i, entry := range list(meta, "managedFields") {
		m, ok := entry.(map[string]any)
		if !ok {
			return Rule{}, fmt.Errorf("read %s %s/%s: managedFields[%d] is not an object", r.Kind, r.Namespace, r.Name, i)
		}
		r.Managers = append(r.Managers, Manager{
			Name:        text(m, "manager"),
			Subresource: text(m, "subresource"),
			Fields:      field(m, "fieldsV1"),
		})
	}
	return r, nil
}

// Ours says whether weir wrote the rule: it carries weir's label, and weir's
// field manager owns something in its spec. The label alone does not do, since
// people copy objects with their labels.
func (r Rule) Ours() bool {
	if r.Labels[LabelManagedBy] != ManagedBy {
		return false
	}
	return slices.ContainsFunc(r.Managers, func(m Manager) bool {
		return m.Name == FieldManager && m.Fields["f:spec"] != nil
	})
}

// Owners returns the field managers, other than weir's and those of status alone,
// that own something in the rule, for telling who wrote a foreign rule.
func (r Rule) Owners() []string {
	var out []string
	for _, m := range r.Managers {
		if m.Name != FieldManager && m.Subresource == "" {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// resolve returns the host that a name in a rule stands for: a name without a
// dot is a Service of the rule's own namespace. Istio takes no other form apart.
func resolve(name, namespace, domain string) string {
	name = strings.ToLower(name)
	if name == "" || name == everyone || strings.Contains(name, ".") {
		return name
	}
	return HostName(name, namespace, domain)
}

// covers says whether a host name, which may start with a wildcard, takes in
// another that does not.
func covers(pattern, host string) bool {
	if suffix, ok := strings.CutPrefix(pattern, everyone); ok {
		return strings.HasSuffix(host, suffix)
	}
	return pattern == host
}

func isWildcard(host string) bool { return strings.HasPrefix(host, everyone) }

// The readers below take any shape of object, since rules come from other people
// and from other versions: what is not as expected reads as absent.

func field(obj map[string]any, key string) map[string]any {
	m, _ := obj[key].(map[string]any)
	return m
}

func text(obj map[string]any, key string) string {
	s, _ := obj[key].(string)
	return s
}

func list(obj map[string]any, key string) []any {
	l, _ := obj[key].([]any)
	return l
}

// objects returns the objects of a list, leaving out whatever is none.
func objects(obj map[string]any, key string) []map[string]any {
	var out []map[string]any
	for _, v := range list(obj, key) {
		if m, ok := v.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func texts(obj map[string]any, key string) []string {
	var out []string
	for _, v := range list(obj, key) {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// keys lists an object's fields by name, save those given.
func keys(obj map[string]any, except ...string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(obj)), func(k string) bool { return slices.Contains(except, k) })
}
