// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	applyconfigurations "k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/weir-io/weir/config/crd"
)

// converters are what server-side apply merges by: weir's kinds by their definitions, Kubernetes' by client-go's, all
// others by their shape, in which a list is one value.
func converters(t *testing.T) []managedfields.TypeConverter {
	t.Helper()
	out, err := madeConverters()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// madeConverters makes them once: a property asks for a hub some hundred times, and they hold nothing of it.
var madeConverters = sync.OnceValues(func() ([]managedfields.TypeConverter, error) {
	definitions, err := crd.All()
	if err != nil {
		return nil, err
	}
	schemas := map[string]*spec.Schema{metadataSchema: metadata()}
	for _, d := range definitions {
		for i := range d.Spec.Versions {
			name := d.Name + "." + d.Spec.Versions[i].Name
			if schemas[name], err = schemaOf(d, &d.Spec.Versions[i]); err != nil {
				return nil, fmt.Errorf("schema of %s: %w", name, err)
			}
		}
	}
	weir, err := managedfields.NewTypeConverter(schemas, false)
	if err != nil {
		return nil, err
	}
	return []managedfields.TypeConverter{
		weir, applyconfigurations.NewTypeConverter(scheme.Scheme), managedfields.NewDeducedTypeConverter(),
	}, nil
})

// schemaOf turns a version of a definition into the schema that an API server publishes for it.
func schemaOf(d *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) (*spec.Schema, error) {
	raw, err := json.Marshal(v.Schema.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	out := &spec.Schema{}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("read back: %w", err)
	}
	out.Properties["metadata"] = *spec.RefSchema("#/components/schemas/" + metadataSchema)
	out.AddExtension("x-kubernetes-group-version-kind", []any{
		map[string]any{"group": d.Spec.Group, "version": v.Name, "kind": d.Spec.Names.Kind},
	})
	return out, nil
}

const metadataSchema = "metadata"

// metadata is the part of every object's metadata that tests use.
func metadata() *spec.Schema {
	s := &spec.Schema{}
	s.Typed("object", "")
	for _, name := range []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"} {
		s.SetProperty(name, *spec.StringProperty())
	}
	s.SetProperty("generation", *spec.Int64Property())
	s.SetProperty("labels", *spec.MapProperty(spec.StringProperty()))
	s.SetProperty("annotations", *spec.MapProperty(spec.StringProperty()))
	finalizers := spec.ArrayProperty(spec.StringProperty())
	finalizers.AddExtension("x-kubernetes-list-type", "set")
	s.SetProperty("finalizers", *finalizers)
	owner := &spec.Schema{}
	owner.Typed("object", "")
	for _, name := range []string{"apiVersion", "kind", "name", "uid"} {
		owner.SetProperty(name, *spec.StringProperty())
	}
	owner.SetProperty("controller", *spec.BooleanProperty())
	owner.SetProperty("blockOwnerDeletion", *spec.BooleanProperty())
	owners := spec.ArrayProperty(owner)
	owners.AddExtension("x-kubernetes-list-type", "map")
	owners.AddExtension("x-kubernetes-list-map-keys", []any{"uid"})
	s.SetProperty("ownerReferences", *owners)
	managed := &spec.Schema{}
	managed.Typed("object", "")
	managed.AddExtension("x-kubernetes-preserve-unknown-fields", true)
	s.SetProperty("managedFields", *spec.ArrayProperty(managed))
	return s
}
