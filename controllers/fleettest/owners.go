// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Owners returns a client of the same hub that tells the owners of a spec from those of a status, as an API server does: in
// Hub each apply takes a hold on the whole object, so that nothing of it goes again as long as two managers write to it.
// Everything has to be applied by one such client, and what stood before belongs to nobody.
func Owners(t *testing.T, hub client.WithWatch) client.WithWatch {
	t.Helper()
	o := &owners{scheme: hub.Scheme(), converter: either(converters(t)), fields: map[types.UID][]metav1.ManagedFieldsEntry{}}
	return interceptor.NewClient(hub, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, a runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			var options client.ApplyOptions
			options.ApplyOptions(opts)
			return o.apply(ctx, c, a, "", options.FieldManager)
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, a runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			var options client.SubResourceApplyOptions
			options.ApplyOpts(opts)
			return o.apply(ctx, c, a, sub, options.FieldManager)
		},
	})
}

// owners keeps who owns what of each object.
type owners struct {
	scheme    *runtime.Scheme
	converter managedfields.TypeConverter

	mu     sync.Mutex
	uids   int
	fields map[types.UID][]metav1.ManagedFieldsEntry
}

// content is an apply configuration that is held as fields.
type content interface {
	GroupVersionKind() schema.GroupVersionKind
	UnstructuredContent() map[string]any
	SetUnstructuredContent(map[string]any)
	client.Object
}

// apply merges what is applied into what stands, by force, and writes it.
func (o *owners) apply(ctx context.Context, c client.Client, applied runtime.ApplyConfiguration, sub, manager string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	a, ok := applied.(content)
	if !ok {
		return fmt.Errorf("an apply configuration of type %T is not held as fields", applied)
	}
	gvk := a.GroupVersionKind()
	empty, err := o.scheme.New(gvk)
	if err != nil {
		return err
	}
	live, ok := empty.(client.Object)
	if !ok {
		return fmt.Errorf("%s is no object", gvk)
	}
	err = c.Get(ctx, client.ObjectKeyFromObject(a), live)
	missing := apierrors.IsNotFound(err)
	switch {
	case missing && sub == "":
		o.uids++
		live.SetUID(types.UID(fmt.Sprintf("uid-%d", o.uids)))
	case err != nil:
		return err
	case a.GetResourceVersion() != "" && a.GetResourceVersion() != live.GetResourceVersion():
		return apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, a.GetName(), errors.New("it has changed"))
	}
	live.GetObjectKind().SetGroupVersionKind(gvk)
	merged, err := o.merge(live, a, sub, manager)
	if err != nil {
		return err
	}
	switch {
	case missing:
		merged.SetResourceVersion("")
		err = c.Create(ctx, merged)
	case sub != "":
		err = c.SubResource(sub).Update(ctx, merged)
	default:
		if specOf(merged) != specOf(live) {
			merged.SetGeneration(live.GetGeneration() + 1)
		}
		err = c.Update(ctx, merged)
	}
	if err != nil {
		return err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(merged)
	if err != nil {
		return err
	}
	a.SetUnstructuredContent(fields)
	a.GetObjectKind().SetGroupVersionKind(gvk)
	return nil
}

// merge is the object as it stands after an apply; who owns what of it is kept.
func (o *owners) merge(live client.Object, a content, sub, manager string) (client.Object, error) {
	gvk := a.GroupVersionKind()
	reset := fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	if sub != "" {
		reset = fieldpath.NewSet(fieldpath.MakePathOrDie("spec"))
	}
	fields, err := managedfields.NewDefaultFieldManager(o.converter, o.scheme, o.scheme, o.scheme, gvk, gvk.GroupVersion(), sub,
		map[fieldpath.APIVersion]fieldpath.Filter{fieldpath.APIVersion(gvk.GroupVersion().String()): fieldpath.NewExcludeSetFilter(reset)})
	if err != nil {
		return nil, err
	}
	live.SetManagedFields(o.fields[live.GetUID()])
	out, err := fields.Apply(live, &unstructured.Unstructured{Object: runtime.DeepCopyJSON(a.UnstructuredContent())}, manager, true)
	if err != nil {
		return nil, err
	}
	merged, ok := out.(client.Object)
	if !ok {
		return nil, fmt.Errorf("an apply of %s gave %T", gvk, out)
	}
	o.fields[live.GetUID()] = merged.GetManagedFields()
	merged.SetManagedFields(nil)
	merged.SetUID(live.GetUID())
	return merged, nil
}

// specOf is the spec of an object as text.
func specOf(o client.Object) string {
	raw, err := json.Marshal(o)
	if err != nil {
		return ""
	}
	var only struct {
		Spec json.RawMessage `json:"spec"`
	}
	if json.Unmarshal(raw, &only) != nil {
		return ""
	}
	return string(only.Spec)
}

// either converts by the first of several that knows a kind.
type either []managedfields.TypeConverter

func (e either) ObjectToTyped(o runtime.Object, opts ...typed.ValidationOptions) (v *typed.TypedValue, err error) {
	for _, c := range e {
		if v, err = c.ObjectToTyped(o, opts...); err == nil {
			return v, nil
		}
	}
	return nil, err
}

func (e either) TypedToObject(v *typed.TypedValue) (o runtime.Object, err error) {
	for _, c := range e {
		if o, err = c.TypedToObject(v); err == nil {
			return o, nil
		}
	}
	return nil, err
}
