// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/weir-io/weir/config/crd"
)

// rule is what an API server holds objects of one kind to, its CEL rules aside.
type rule struct {
	validator validation.SchemaValidator
	lists     *structural.Structural
}

func rules(t *testing.T) map[schema.GroupKind]rule {
	t.Helper()
	out, err := madeRules()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// madeRules makes them once, as madeConverters does.
var madeRules = sync.OnceValues(func() (map[schema.GroupKind]rule, error) {
	definitions, err := crd.All()
	if err != nil {
		return nil, err
	}
	out := map[schema.GroupKind]rule{}
	for _, d := range definitions {
		var props apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(d.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
		validator, _, err := validation.NewSchemaValidator(&props)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
		lists, err := structural.NewStructural(&props)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
		out[schema.GroupKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}] = rule{validator, lists}
	}
	return out, nil
})

// validated refuses what an API server would refuse of what controllers apply: texts and lists that are too long,
// values of no enum, keys that stand twice.
func validated(t *testing.T, c client.WithWatch) client.WithWatch {
	t.Helper()
	byKind := rules(t)
	check := func(ctx context.Context, c client.Client, applied runtime.ApplyConfiguration) error {
		u, ok := applied.(interface {
			GroupVersionKind() schema.GroupVersionKind
			client.Object
		})
		if !ok {
			return nil
		}
		r, ok := byKind[u.GroupVersionKind().GroupKind()]
		if !ok {
			return nil
		}
		stands := &unstructured.Unstructured{}
		stands.SetGroupVersionKind(u.GroupVersionKind())
		if err := c.Get(ctx, client.ObjectKeyFromObject(u), stands); err != nil {
			return err
		}
		errs := validation.ValidateCustomResource(nil, stands.Object, r.validator)
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, r.lists, stands.Object)...)
		if len(errs) > 0 {
			return apierrors.NewInvalid(u.GroupVersionKind().GroupKind(), u.GetName(), errs)
		}
		return nil
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if err := c.Apply(ctx, o, opts...); err != nil {
				return err
			}
			return check(ctx, c, o)
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			if err := c.SubResource(sub).Apply(ctx, o, opts...); err != nil {
				return err
			}
			return check(ctx, c, o)
		},
	})
}
