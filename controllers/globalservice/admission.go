// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/controllers/member"
)

var (
	policyResource  = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicies"}
	bindingResource = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicybindings"}
)

// admissionObject is one of the two objects by which new pods come up fenced.
type admissionObject struct {
	ref    member.Ref
	object *unstructured.Unstructured
}

// admission returns the policy and its binding, in the order in which they are made; they are removed in the reverse
// order. The member's own API server puts the fence on a pod as it is created, so that no pod of a service that is
// drained is reachable for a moment; it fails open, since a pod that cannot be made is worse than one that is fenced
// a second later. The second label, of generation 0, marks the fence as weir's: it is found by it when the Service is
// global no longer.
func admission(key types.NamespacedName, selector map[string]string) []admissionObject {
	name := member.FenceName(key.Namespace, key.Name)
	labels := map[string]any{}
	for k, v := range selector {
		labels[k] = v
	}
	constraints := map[string]any{
		"resourceRules": []any{map[string]any{
			"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"pods"}, "operations": []any{"CREATE"},
		}},
		"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": key.Namespace}},
		"objectSelector":    map[string]any{"matchLabels": labels},
	}
	policy := map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"matchConstraints":   constraints,
			"failurePolicy":      "Ignore",
			"reinvocationPolicy": "Never",
			"mutations": []any{map[string]any{
				"patchType": "ApplyConfiguration",
				"applyConfiguration": map[string]any{
					"expression": fmt.Sprintf(`Object{metadata: Object.metadata{labels: {%q: "true", %q: "0"}}}`, LabelFence, LabelFenceGeneration),
				},
			}},
		},
	}
	binding := map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"policyName": name},
	}
	return []admissionObject{
		{member.Ref{Resource: policyResource, Name: name}, &unstructured.Unstructured{Object: policy}},
		{member.Ref{Resource: bindingResource, Name: name}, &unstructured.Unstructured{Object: binding}},
	}
}
