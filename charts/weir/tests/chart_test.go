// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// The least that each mode must be told.
const (
	hubValues   = "mode: hub\nhub: {advertiseAddress: 'weir.example.com:8443'}\n"
	agentValues = "mode: agent\nagent: {clusterName: north-1, hubAddress: 'weir.example.com:8443', joinSecretName: weir-join}\n"
)

// render gives every file of the chart as Helm would send it, by the file's name without the chart's.
func render(values string) (map[string]string, error) {
	chart, err := loader.LoadDir("..")
	if err != nil {
		return nil, fmt.Errorf("load chart: %w", err)
	}
	given := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		return nil, fmt.Errorf("decode values: %w", err)
	}
	options := common.ReleaseOptions{Name: "weir", Namespace: "weir-system", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, given, options, common.DefaultCapabilities.Copy())
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, text := range files {
		if strings.TrimSpace(text) != "" && !strings.HasPrefix(name[strings.LastIndex(name, "/")+1:], "_") {
			out[strings.TrimPrefix(name, "weir/templates/")] = text
		}
	}
	return out, nil
}

// resource is one rendered object, decoded strictly into its Kubernetes type.
type resource struct {
	file, kind, namespace, name string
	object                      any
}

// resources renders and decodes everything but the notes.
func resources(t *testing.T, values string) []resource {
	t.Helper()
	files, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	var out []resource
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if file == "NOTES.txt" {
			continue
		}
		for doc := range strings.SplitSeq("\n"+files[file], "\n---\n") {
			if strings.TrimSpace(doc) != "" {
				out = append(out, decode(t, file, doc))
			}
		}
	}
	return out
}

func decode(t *testing.T, file, doc string) resource {
	t.Helper()
	var head struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
		t.Fatalf("%s: %v in:\n%s", file, err, doc)
	}
	kinds := map[string]func() any{
		"ServiceAccount":                   func() any { return &corev1.ServiceAccount{} },
		"Secret":                           func() any { return &corev1.Secret{} },
		"Service":                          func() any { return &corev1.Service{} },
		"Deployment":                       func() any { return &appsv1.Deployment{} },
		"Role":                             func() any { return &rbacv1.Role{} },
		"RoleBinding":                      func() any { return &rbacv1.RoleBinding{} },
		"ClusterRole":                      func() any { return &rbacv1.ClusterRole{} },
		"ClusterRoleBinding":               func() any { return &rbacv1.ClusterRoleBinding{} },
		"CustomResourceDefinition":         func() any { return &apiextensionsv1.CustomResourceDefinition{} },
		"ValidatingAdmissionPolicy":        func() any { return &admissionv1.ValidatingAdmissionPolicy{} },
		"ValidatingAdmissionPolicyBinding": func() any { return &admissionv1.ValidatingAdmissionPolicyBinding{} },
	}
	fresh, ok := kinds[head.Kind]
	if !ok {
		t.Fatalf("%s: nobody expects a %q", file, head.Kind)
	}
	object := fresh()
	if err := yaml.UnmarshalStrict([]byte(doc), object); err != nil {
		t.Fatalf("%s: %s %s: %v in:\n%s", file, head.Kind, head.Metadata.Name, err, doc)
	}
	return resource{file, head.Kind, head.Metadata.Namespace, head.Metadata.Name, object}
}

// one gives the only object of a type.
func one[T any](t *testing.T, values string) T {
	t.Helper()
	var out []T
	for _, r := range resources(t, values) {
		if object, ok := r.object.(T); ok {
			out = append(out, object)
		}
	}
	if len(out) != 1 {
		t.Fatalf("%d objects of type %T, want one", len(out), *new(T))
	}
	return out[0]
}
