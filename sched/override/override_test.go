// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package override

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/weir-io/weir/api/v1alpha1"
)

func changes(pairs ...string) []v1alpha1.FieldOverride {
	var out []v1alpha1.FieldOverride
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, v1alpha1.FieldOverride{Path: v1alpha1.FieldPath(pairs[i]), Value: apiextensionsv1.JSON{Raw: []byte(pairs[i+1])}})
	}
	return out
}

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := decode([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

const deployment = `{"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"web","image":"a"},{"name":"log"}]}}}}`

func TestAFieldIsSetAndTheTemplateStays(t *testing.T) {
	for name, c := range map[string]struct {
		changes []v1alpha1.FieldOverride
		want    string
	}{
		"none":            {nil, deployment},
		"a field":         {changes("/spec/replicas", "4"), strings.Replace(deployment, "3", "4", 1)},
		"in a list":       {changes("/spec/template/spec/containers/0/image", `"b"`), strings.Replace(deployment, `"a"`, `"b"`, 1)},
		"made on the way": {changes("/spec/template/spec/containers/1/resources/requests/cpu", `"1"`), strings.Replace(deployment, `"log"}`, `"log","resources":{"requests":{"cpu":"1"}}}`, 1)},
		"with escapes":    {changes("/metadata/annotations/a~1b~0c", `"x"`), strings.Replace(deployment, "{", `{"metadata":{"annotations":{"a/b~c":"x"}},`, 1)},
		"in order":        {changes("/spec/replicas", "4", "/spec/replicas", "5"), strings.Replace(deployment, "3", "5", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			before := decoded(t, deployment)
			got, errs := Apply(before, c.changes, field.NewPath("o"))
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if diff := cmp.Diff(decoded(t, c.want), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(decoded(t, deployment), before); diff != "" {
				t.Errorf("the template changed (-want +got)\n%s", diff)
			}
		})
	}
}

func TestAChangeThatCannotBeMadeNamesTheFieldAndTheWayOut(t *testing.T) {
	for name, c := range map[string]struct {
		changes []v1alpha1.FieldOverride
		want    string
	}{
		"past the end":       {changes("/spec/template/spec/containers/2/image", "1"), "o[0].path: Invalid value: \"/spec/template/spec/containers/2/image\": \"2\" is no element of a list of 2"},
		"no number":          {changes("/spec/template/spec/containers/-/image", "1"), "\"-\" is no element"},
		"below a value":      {changes("/spec/replicas/x", "1"), "there is a plain value where \"x\" should be looked for"},
		"no JSON, as second": {changes("/spec/replicas", "4", "/spec/replicas", "{"), "o[1].value"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := Apply(decoded(t, deployment), c.changes, field.NewPath("o"))
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), c.want) {
				t.Errorf("%v", errs)
			}
		})
	}
}

func TestTheOverridesOfAClusterAreFoundByItsName(t *testing.T) {
	all := []v1alpha1.ClusterOverride{{ClusterName: "c1"}, {ClusterName: "c2", ClusterOverrides: changes("/spec/x", "1")}}
	if got, path := For(all, "c2"); len(got) != 1 || path.String() != "spec.overrides[1].clusterOverrides" {
		t.Errorf("%v at %v", got, path)
	}
	if got, path := For(all, "c3"); got != nil || path != nil {
		t.Errorf("%v at %v", got, path)
	}
}

func FuzzApply(f *testing.F) {
	f.Add("/spec/replicas", "4")
	f.Add("/spec/template/spec/containers/0", "null")
	f.Add("~1/~0/", "{}")
	f.Fuzz(func(t *testing.T, path, value string) {
		before := decoded(t, deployment)
		if _, errs := Apply(before, changes(path, value), field.NewPath("o")); len(errs) > 1 {
			t.Errorf("one change, and %v", errs)
		}
		if diff := cmp.Diff(decoded(t, deployment), before); diff != "" {
			t.Errorf("the template changed (-want +got)\n%s", diff)
		}
	})
}
