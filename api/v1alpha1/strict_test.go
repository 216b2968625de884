// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestEveryFaultOfATemplateIsToldUpToEight(t *testing.T) {
	d := deployment(t, `{"paused":"no","template":{"spec":{"containers":[{"imgae":"b"},{"name":"b","resources":{"requests":{"cpu":"lots"}}}]}}}`, `[]`)
	wantErrors(t, d.Validate(), "spec.template.spec.paused: true or false",
		"spec.template.spec.template.spec.containers[0].imgae: no such field",
		"spec.template.spec.template.spec.containers[1].resources.requests.cpu: quantity")
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprintf(`"l%d":%d`, i, i)
	}
	if _, errs := deployment(t, `{"template":{"metadata":{"labels":{`+strings.Join(many, ",")+`}}}}`, `[]`).Deployment(); len(errs) != 8 {
		t.Errorf("%d are told", len(errs))
	}
}

func TestANameThatIsThereTwiceIsNamed(t *testing.T) {
	s := &FederatedService{Spec: FederatedServiceSpec{Template: ServiceTemplate{Spec: apiextensionsv1.JSON{Raw: []byte(`{"ports":[{"port":80,"port":81}]}`)}}}}
	wantErrors(t, s.Validate(), "spec.template.spec.ports[0].port: is there twice")
}

// rich has a field of each type that a template may hold.
const rich = `{"minReadySeconds":5,"paused":true,"selector":{"matchLabels":{"app":"web"}},
	"strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":1}},
	"template":{"metadata":{"labels":{"app":"web"},"creationTimestamp":null},"spec":{
		"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Gi"}}],
		"containers":[{"name":"log"},{"name":"web","args":["-v"],"ports":[{"containerPort":80}],"env":[{"name":"A","value":"b"}],
			"resources":{"requests":{"cpu":"500m","memory":1024}},"livenessProbe":{"httpGet":{"port":"http"}}}]}}}`

// Whatever single name of a template is misspelt, and whatever single value is of another type, is named where it stands.
func TestWhateverFieldIsWrongIsNamed(t *testing.T) {
	var whole any
	if err := json.Unmarshal([]byte(rich), &whole); err != nil {
		t.Fatal(err)
	}
	if errs := decodeStrict([]byte(rich), &appsv1.DeploymentSpec{}, templateSpecPath, "Deployment"); len(errs) > 0 {
		t.Fatal(errs)
	}
	tried := 0
	check := func(path *field.Path) {
		tried++
		data, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		if errs := decodeStrict(data, &appsv1.DeploymentSpec{}, templateSpecPath, "Deployment"); len(errs) != 1 || errs[0].Field != path.String() {
			t.Errorf("%s: got %v", path, errs)
		}
	}
	free := []string{"matchLabels", "labels", "requests"} // whose names are the user's
	var visit func(node any, path *field.Path, name string)
	visit = func(node any, path *field.Path, name string) {
		switch node := node.(type) {
		case map[string]any:
			for key, value := range node {
				node[key] = []any{map[string]any{}}
				switch value.(type) {
				case []any:
					node[key] = "a"
				case map[string]any:
					node[key] = true
				}
				check(path.Child(key))
				delete(node, key)
				if !slices.Contains(free, name) {
					node[key+"x"] = value
					check(path.Child(key + "x"))
					delete(node, key+"x")
				}
				node[key] = value
				visit(value, path.Child(key), key)
			}
		case []any:
			for i, value := range node {
				node[i] = []any{}
				check(path.Index(i))
				node[i] = value
				visit(value, path.Index(i), "")
			}
		}
	}
	visit(whole, templateSpecPath, "")
	if tried < 60 {
		t.Errorf("only %d were tried", tried)
	}
}
