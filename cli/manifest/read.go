// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/weir-io/weir/api/admission"
	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/sched"
	"github.com/weir-io/weir/sched/adapter"
	"github.com/weir-io/weir/sched/simulate"
)

// MaxSize is how large a file may be, in bytes.
const MaxSize = 64 << 20

// A File is a file's name, as messages give it, and its content.
type File struct {
	Name string
	Data []byte
}

// A Set is what files hold.
type Set struct {
	// Question has the objects; what to suppose is left to the asker.
	Question simulate.Question
	// Passed counts objects of kinds that are not used, by kind and in that order.
	Passed []Passed
	// Notes are remarks on objects that are right and yet of no use.
	Notes []string
}

// Passed is a kind that is not used.
type Passed struct {
	Kind  string
	Count int
}

// A reader collects the objects of all files and what is wrong with them.
type reader struct {
	checkers map[string]admission.Checker
	set      Set
	passed   map[string]int
	seen     map[string]string // kind and name → where it stands
	faults   FaultErrors
}

// checkers compiles every rule once, which takes longer than all else.
var checkers = sync.OnceValues(admission.Checkers)

// Read reads files. An error of type FaultErrors tells what is wrong with them.
func Read(ctx context.Context, files []File) (*Set, error) {
	checkers, err := checkers()
	if err != nil {
		return nil, err
	}
	r := &reader{checkers: checkers, passed: map[string]int{}, seen: map[string]string{}}
	for _, f := range files {
		if len(f.Data) > MaxSize {
			r.faults = append(r.faults, &FaultError{File: f.Name, Line: 1, Message: fmt.Sprintf("has more than %d bytes, which are the most that are read: split it", MaxSize)})
			continue
		}
		for _, d := range documents(f) {
			r.document(ctx, d)
		}
	}
	r.relate()
	for _, kind := range slices.Sorted(maps.Keys(r.passed)) {
		r.set.Passed = append(r.set.Passed, Passed{kind, r.passed[kind]})
	}
	if len(r.faults) > 0 {
		return nil, r.faults
	}
	return &r.set, nil
}

// document reads one document: an object, a list of them, or nothing.
func (r *reader) document(ctx context.Context, d *document) {
	value, err := d.decode()
	if err != nil {
		r.faults = append(r.faults, d.syntax(err))
		return
	}
	switch value := value.(type) {
	case nil:
	case map[string]any:
		items, isList := value["items"].([]any)
		if kind, _ := value["kind"].(string); !isList || !strings.HasSuffix(kind, "List") {
			r.object(ctx, d, "", value)
			return
		}
		for i, item := range items {
			at := fmt.Sprintf("items[%d]", i)
			if object, ok := item.(map[string]any); ok {
				r.object(ctx, d, at, object)
			} else {
				r.faults = append(r.faults, d.fault(at, "", "is no object"))
			}
		}
	default:
		r.faults = append(r.faults, d.fault("", "", "is no object: a manifest begins with apiVersion and kind"))
	}
}

// object reads one object, which stands at a place in its document.
func (r *reader) object(ctx context.Context, d *document, at string, object map[string]any) {
	version, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	if version == "" || kind == "" {
		r.faults = append(r.faults, d.fault(at, "", "has no apiVersion or no kind"))
		return
	}
	group, _, _ := strings.Cut(version, "/")
	use, used := uses[kind]
	switch {
	case group != v1alpha1.GroupVersion.Group, !used && known(kind):
		r.passed[kind]++
		return
	case !used:
		r.faults = append(r.faults, d.fault(at, "kind", fmt.Sprintf("%q is no kind of %s: it has %s", kind, group, strings.Join(kinds(), ", "))))
		return
	}
	if version != v1alpha1.GroupVersion.String() {
		r.faults = append(r.faults, d.fault(at, "apiVersion", fmt.Sprintf("%q is not known: this weir knows %s", version, v1alpha1.GroupVersion)))
		return
	}
	meta, _ := object["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if name == "" {
		r.faults = append(r.faults, d.fault(at, "metadata.name", kind+" has no name"))
		return
	}
	namespace, _ := meta["namespace"].(string)
	title := kind + " " + name
	if use.namespaced {
		if namespace == "" {
			namespace = "default"
			meta["namespace"] = namespace
		}
		title = kind + " " + namespace + "/" + name
	}
	if first, twice := r.seen[title]; twice {
		r.faults = append(r.faults, d.fault(at, "metadata.name", title+" is there twice, first in "+first))
		return
	}
	r.seen[title] = d.where(at)
	errs := r.checkers[kind].Create(ctx, object)
	if len(errs) == 0 {
		errs = use.keep(&r.set, object)
	}
	for _, err := range errs {
		r.faults = append(r.faults, d.fault(at, err.Field, title+": "+body(err)))
	}
}

// A use is how a kind is kept.
type use struct {
	namespaced bool
	keep       func(*Set, map[string]any) field.ErrorList
}

// uses are the kinds that questions use.
var uses = map[string]use{
	"Cluster": {false, func(s *Set, object map[string]any) field.ErrorList {
		return keep(&s.Question.Clusters, object, func(*v1alpha1.Cluster) field.ErrorList { return nil })
	}},
	v1alpha1.ClusterViewKind: {false, func(s *Set, object map[string]any) field.ErrorList {
		return keep(&s.Question.Views, object, (*v1alpha1.ClusterView).Validate)
	}},
	"FederatedDeployment": {true, func(s *Set, object map[string]any) field.ErrorList {
		return keep(&s.Question.Deployments, object, validDeployment)
	}},
	"ReplicaSchedulingPreference": {true, func(s *Set, object map[string]any) field.ErrorList {
		return keep(&s.Question.Preferences, object, func(*v1alpha1.ReplicaSchedulingPreference) field.ErrorList { return nil })
	}},
	"ResourceBinding": {true, func(s *Set, object map[string]any) field.ErrorList {
		return keep(&s.Question.Bindings, object, func(*v1alpha1.ResourceBinding) field.ErrorList { return nil })
	}},
}

// kinds are all of weir's group, sorted: what is none of them was meant to be one.
var kinds = sync.OnceValue(func() []string {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil
	}
	out := []string{v1alpha1.ClusterViewKind}
	for kind, t := range scheme.KnownTypes(v1alpha1.GroupVersion) {
		if strings.HasPrefix(t.PkgPath(), reflect.TypeFor[v1alpha1.Cluster]().PkgPath()) && !strings.HasSuffix(kind, "List") {
			out = append(out, kind)
		}
	}
	slices.Sort(out)
	return out
})

func known(kind string) bool { return slices.Contains(kinds(), kind) }

// keep decodes an object that is admitted, and appends it when it is valid.
func keep[T any](to *[]T, object map[string]any, validate func(*T) field.ErrorList) field.ErrorList {
	var typed T
	data, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(data, &typed)
	}
	if err != nil {
		return field.ErrorList{field.Invalid(nil, "", err.Error())}
	}
	if errs := validate(&typed); len(errs) > 0 {
		return errs
	}
	*to = append(*to, typed)
	return nil
}

// validDeployment finds what a controller would find wrong: what no schema sees, overrides that cannot be made among it.
func validDeployment(d *v1alpha1.FederatedDeployment) field.ErrorList {
	if errs := d.Validate(); len(errs) > 0 {
		return errs
	}
	return adapter.Refine(&sched.Request{}, d)
}

// relate remarks on objects that belong to none.
func (r *reader) relate() {
	for i := range r.set.Question.Views {
		name := r.set.Question.Views[i].Name
		if _, there := r.seen["Cluster "+name]; !there {
			r.set.Notes = append(r.set.Notes, fmt.Sprintf("ClusterView %s is the view of no Cluster in these files: not used", name))
		}
	}
	for i := range r.set.Question.Preferences {
		p := &r.set.Question.Preferences[i]
		if _, there := r.seen["FederatedDeployment "+p.Namespace+"/"+p.Spec.TargetRef.Name]; !there {
			r.set.Notes = append(r.set.Notes, fmt.Sprintf("ReplicaSchedulingPreference %s/%s is for FederatedDeployment %s, which is not in these files: not used", p.Namespace, p.Name, p.Spec.TargetRef.Name))
		}
	}
	for i := range r.set.Question.Bindings {
		b := &r.set.Question.Bindings[i]
		if _, there := r.seen["FederatedDeployment "+b.Spec.Resource.Namespace+"/"+b.Spec.Resource.Name]; !there {
			r.set.Notes = append(r.set.Notes, fmt.Sprintf("ResourceBinding %s/%s is of no FederatedDeployment in these files: not used", b.Namespace, b.Name))
		}
	}
}

// body is what is wrong with a field, in as few words as there are.
func body(err *field.Error) string {
	value, isText := err.BadValue.(string)
	switch {
	case strings.Contains(err.Detail, quantityPattern):
		return fmt.Sprintf("%q is no quantity: write a number with or without a unit, such as 500m or 2Gi", value)
	case err.BadValue == nil || isText && value == "":
		return cmp.Or(err.Detail, err.ErrorBody())
	}
	return err.ErrorBody()
}

// quantityPattern is a part of the pattern that schemas hold quantities to, and of no other.
const quantityPattern = "[numkMGTPE]"
