// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/weir-io/weir/api/v1alpha1"
)

// PlanManager owns the plan in a GlobalService's spec, whoever writes it: what its next plan leaves out is then gone.
const PlanManager = "weir-shift"

// ApplySpec writes the part of a spec that manager owns, on top of the given resourceVersion. An empty version makes
// the object where it does not exist. A newer version on the server is a conflict. The labels and owners of obj are
// written with it; who does not own them gives an obj that has only a name. The version that then stands is returned.
func ApplySpec(ctx context.Context, c client.Client, manager string, obj client.Object, version string, spec any) (string, error) {
	u, err := partOf(c.Scheme(), obj, "spec", spec)
	if err != nil {
		return "", err
	}
	u.SetResourceVersion(version)
	u.SetLabels(obj.GetLabels())
	u.SetOwnerReferences(obj.GetOwnerReferences())
	u.SetFinalizers(nil)
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(manager), client.ForceOwnership)
	return u.GetResourceVersion(), err
}

// ApplyStatus writes the part of a status that manager owns, and returns the object as it then stands. Whose status holds
// anything that is remembered (a history, a time at which something began) writes on top of the resourceVersion that it read,
// and a newer one is a conflict: a cache may still hold what stood before the last write, and what was remembered by that
// would be lost. Who says only how things are gives none, and writes over whatever stands.
func ApplyStatus(ctx context.Context, c client.Client, manager string, obj client.Object, version string, status any) (*unstructured.Unstructured, error) {
	u, err := partOf(c.Scheme(), obj, "status", status)
	if err != nil {
		return nil, err
	}
	u.SetResourceVersion(version)
	err = c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(manager), client.ForceOwnership)
	return u, err
}

// partOf makes the apply configuration that names obj and holds value under key.
func partOf(scheme *runtime.Scheme, obj client.Object, key string, value any) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return nil, fmt.Errorf("apply %s of %s: %w", key, client.ObjectKeyFromObject(obj), err)
	}
	fields, err := toFields(value)
	if err != nil {
		return nil, fmt.Errorf("apply %s of %s %s: %w", key, gvk.Kind, client.ObjectKeyFromObject(obj), err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{key: fields}}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(obj.GetNamespace())
	u.SetName(obj.GetName())
	return u, nil
}

// SoonAgain is when to look again at what somebody else has written in between.
const SoonAgain = time.Second

// Time is a time as objects keep it: whole seconds, so that what is written reads back equal.
func Time(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// NotServed says whether an object asks for something that this build does not serve: nothing is written for it.
func NotServed(conditions []metav1.Condition) bool {
	for _, c := range conditions {
		if c.Type == v1alpha1.ConditionReady && c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonNotSupported {
			return true
		}
	}
	return false
}

// toFields turns a struct into the fields that its JSON names; what omitempty leaves out is not owned.
func toFields(value any) (map[string]any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, json.Unmarshal(raw, &out)
}
