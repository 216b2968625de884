// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package override

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	k8sjson "sigs.k8s.io/json"

	"github.com/weir-io/weir/api/v1alpha1"
)

// Deployment is what a cluster's overrides make of a template that is valid without them; nil where it has none, or only one
// that pins its replicas, of which [v1alpha1.FederatedDeployment.Pins] is the judge. The errors name the override, and in it
// the field that no Deployment has or that is not of its type. It is for looking at, by the scheduler for one.
func Deployment(d *v1alpha1.FederatedDeployment, cluster string) (*appsv1.Deployment, field.ErrorList) {
	changes, path := For(d.Spec.Overrides, cluster)
	if !slices.ContainsFunc(changes, func(f v1alpha1.FieldOverride) bool { return f.Path != v1alpha1.ReplicasPath }) {
		return nil, nil
	}
	m := &made{cluster: cluster, changes: changes, path: path}
	if errs := m.make(&d.Spec.Template); len(errs) > 0 {
		return nil, errs
	}
	if spec, ok := m.object["spec"].(map[string]any); ok {
		delete(spec, "replicas")
	}
	own := &v1alpha1.FederatedDeployment{ObjectMeta: d.ObjectMeta}
	if errs := m.read(&own.Spec.Template); len(errs) > 0 {
		return nil, errs
	}
	out, errs := own.Deployment()
	return out, m.blamed(errs)
}

// Service is what a cluster's overrides make of a Service's template, likewise; nil where it has none.
func Service(s *v1alpha1.FederatedService, cluster string) (*corev1.Service, field.ErrorList) {
	changes, path := For(s.Spec.Overrides, cluster)
	if len(changes) == 0 {
		return nil, nil
	}
	m := &made{cluster: cluster, changes: changes, path: path}
	if errs := m.make(&s.Spec.Template); len(errs) > 0 {
		return nil, errs
	}
	own := &v1alpha1.FederatedService{ObjectMeta: s.ObjectMeta}
	if errs := m.read(&own.Spec.Template); len(errs) > 0 {
		return nil, errs
	}
	out, errs := own.Service()
	return out, m.blamed(errs)
}

// made is a template with the overrides of one cluster in it.
type made struct {
	cluster string
	changes []v1alpha1.FieldOverride
	path    *field.Path // where the changes stand
	object  map[string]any
}

// make makes the changes.
func (m *made) make(template any) field.ErrorList {
	raw, err := json.Marshal(template)
	if err == nil {
		err = decode(raw, &m.object)
	}
	if err != nil {
		return field.ErrorList{field.InternalError(m.path, err)}
	}
	changed, errs := Apply(m.object, m.changes, m.path)
	if errs = append(errs, m.meta()...); len(errs) > 0 {
		return errs
	}
	m.object = changed
	return nil
}

// read decodes what was made as a template.
func (m *made) read(template any) field.ErrorList {
	raw, err := json.Marshal(m.object)
	if err == nil {
		err = json.Unmarshal(raw, template)
	}
	if err != nil {
		return field.ErrorList{field.Invalid(m.path, "", fmt.Sprintf("for %s: %v", m.cluster, err))}
	}
	return nil
}

// meta finds labels and annotations that are none.
func (m *made) meta() field.ErrorList {
	var errs field.ErrorList
	for j, change := range m.changes {
		way := tokens(string(change.Path))
		if way[0] != "metadata" {
			continue
		}
		if len(way) > 3 {
			errs = append(errs, field.Invalid(m.path.Index(j).Child("path"), string(change.Path),
				fmt.Sprintf("for %s: there is nothing below a label or an annotation: write a / in its name as ~1", m.cluster)))
			continue
		}
		var text string
		if err := decode(change.Value.Raw, &text); err != nil {
			errs = append(errs, field.Invalid(m.path.Index(j).Child("value"), string(change.Value.Raw),
				fmt.Sprintf("for %s, %s: must be text: put it in quotes", m.cluster, strings.Join(way, "."))))
		}
	}
	return errs
}

// blamed turns what is wrong with the template that was made into what is wrong with the overrides.
func (m *made) blamed(errs field.ErrorList) field.ErrorList {
	var out field.ErrorList
	for _, err := range errs {
		where := strings.TrimPrefix(err.Field, "spec.template.")
		told := *err
		told.Detail = fmt.Sprintf("for %s, %s: %s", m.cluster, where, err.Detail)
		j, named := m.author(where)
		switch {
		case j < 0:
			told.Field = m.path.String()
		case within(named, where) && (named != where || err.Type != field.ErrorTypeInvalid):
			told.Field = m.path.Index(j).Child("value").String()
		default:
			// The way leads through what a kind does not have, or through what is something else there.
			if err.Type == field.ErrorTypeTypeInvalid {
				told.Detail += ", and what a path makes on its way are objects: set it as a whole"
			}
			told.Type, told.Field, told.BadValue = field.ErrorTypeInvalid, m.path.Index(j).Child("path").String(), string(m.changes[j].Path)
		}
		out = append(out, &told)
	}
	return out
}

// author is the override that made a field what it is, and the field that it names: the one that comes nearest from above, or
// else the last one that goes through it; -1: none of them alone.
func (m *made) author(where string) (author int, named string) {
	author = -1
	above := false
	for j, change := range m.changes {
		name := m.name(tokens(string(change.Path)))
		switch {
		case within(name, where) && (!above || len(name) >= len(named)):
			author, named, above = j, name, true
		case within(where, name) && !above:
			author, named = j, name
		}
	}
	return author, named
}

// name is a way in the object as errors name it.
func (m *made) name(way []string) string {
	var name strings.Builder
	var node any = m.object
	for i, token := range way {
		if list, ok := node.([]any); ok {
			name.WriteString("[" + token + "]")
			node = nil
			if at, err := strconv.Atoi(token); err == nil && at >= 0 && at < len(list) {
				node = list[at]
			}
			continue
		}
		if i > 0 {
			name.WriteByte('.')
		}
		name.WriteString(token)
		object, _ := node.(map[string]any)
		node = object[token]
	}
	return name.String()
}

// within says whether an inner field is an outer one, or stands in it.
func within(outer, inner string) bool {
	rest, ok := strings.CutPrefix(inner, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// decode reads JSON. Whole numbers stay whole.
func decode(raw []byte, to any) error { return k8sjson.UnmarshalCaseSensitivePreserveInts(raw, to) }
