// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// deployment makes a FederatedDeployment of a template's spec and overrides, in JSON.
func deployment(t *testing.T, spec, overrides string) *FederatedDeployment {
	t.Helper()
	out := &FederatedDeployment{}
	text := `{"metadata":{"namespace":"shop","name":"web"},"spec":{"template":{"metadata":{"labels":{"app":"web"}},"spec":` + spec + `},"placement":{},"overrides":` + overrides + `}}`
	if err := json.Unmarshal([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// wantErrors compares errors, as Field: detail, with the parts that they must hold.
func wantErrors(t *testing.T, errs field.ErrorList, want ...string) {
	t.Helper()
	if len(errs) != len(want) {
		t.Fatalf("want %d errors, got %v", len(want), errs)
	}
	for i, err := range errs {
		path, wayOut, _ := strings.Cut(want[i], ": ")
		if err.Field != path || !strings.Contains(err.Error(), wayOut) {
			t.Errorf("want an error at %s that says %q, got %v", path, wayOut, err)
		}
	}
}

func TestTemplateIsKeptAsItWasWritten(t *testing.T) {
	for _, spec := range []string{
		`{}`,
		`{"replicas":0}`,
		`{"minReadySeconds":5,"replicas":9,"template":{"spec":{"containers":[{"image":"b","name":"a","resources":{"requests":{"cpu":"1000m"}}}]}}}`,
		`{"newerThanWeir":{"number":9007199254740993},"selector":null}`,
	} {
		var s DeploymentTemplateSpec
		if err := json.Unmarshal([]byte(spec), &s); err != nil {
			t.Fatal(err)
		}
		back, err := json.Marshal(*s.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		if string(back) != spec {
			t.Errorf("%s became %s", spec, back)
		}
	}
}

func TestTypedSpecMakesATemplateThatSaysTheSame(t *testing.T) {
	want := &appsv1.DeploymentSpec{
		Replicas: new(int32(3)),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b"}}}},
	}
	d := deployment(t, `{"minReadySeconds":5}`, `[]`)
	if err := d.Spec.Template.Spec.SetDeploymentSpec(want); err != nil {
		t.Fatal(err)
	}
	got, errs := d.Deployment()
	wantErrors(t, errs)
	if diff := cmp.Diff(want, &got.Spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Namespace != "shop" || got.Name != "web" || got.Labels["app"] != "web" {
		t.Errorf("metadata is %+v", got.ObjectMeta)
	}
}

func TestTemplateThatIsNoDeploymentNamesItsField(t *testing.T) {
	for name, test := range map[string]struct{ spec, want string }{
		"no container":         {`{}`, "spec.template.spec.template.spec.containers: name at least one container"},
		"a misspelt field":     {`{"template":{"spec":{"containers":[{"name":"a","imgae":"b"}]}}}`, "spec.template.spec.template.spec.containers[0].imgae: correct its name, or remove it"},
		"a name in capitals":   {`{"Template":{}}`, "spec.template.spec.Template: correct its name, or remove it"},
		"a list that is text":  {`{"template":{"spec":{"containers":"a"}}}`, "spec.template.spec.template.spec.containers: \"a\": must be a list"},
		"a number that is not": {`{"minReadySeconds":"soon"}`, "spec.template.spec.minReadySeconds: \"soon\": must be a whole number of at most 32 bits"},
		"a half":               {`{"minReadySeconds":1.5}`, "spec.template.spec.minReadySeconds: \"1.5\": must be a whole number"},
		"no quantity":          {`{"template":{"spec":{"containers":[{"name":"a"},{"name":"b","resources":{"requests":{"cpu":"lots","memory":"1Gi"}}}]}}}`, "spec.template.spec.template.spec.containers[1].resources.requests.cpu: \"lots\": must be a quantity"},
		"a list as a quantity": {`{"template":{"spec":{"containers":[{"resources":{"limits":{"example.com/gpu":[1]}}}]}}}`, "spec.template.spec.template.spec.containers[0].resources.limits.example.com/gpu: must be a quantity"},
		"a number as a label":  {`{"template":{"metadata":{"labels":{"app.kubernetes.io/version":2}}}}`, "spec.template.spec.template.metadata.labels.app.kubernetes.io/version: \"2\": must be text: put it in quotes"},
		"text as a yes":        {`{"paused":"no"}`, "spec.template.spec.paused: must be true or false"},
		"an object as a list":  {`{"template":{"spec":{"containers":{"0":{}}}}}`, "spec.template.spec.template.spec.containers: must be a list"},
		"a list as an object":  {`{"template":{"spec":[]}}`, "spec.template.spec.template.spec: must be an object"},
		"a port that is none":  {`{"template":{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":{}}}}]}}}`, "spec.template.spec.template.spec.containers[0].livenessProbe.httpGet.port: must be a whole number"},
		"what is in nothing":   {`{"tmplate":{"spec":{"containers":7}}}`, "spec.template.spec.tmplate: correct its name"},
	} {
		t.Run(name, func(t *testing.T) {
			wantErrors(t, deployment(t, test.spec, `[]`).Validate(), test.want)
		})
	}
}

func TestPinsAreWholeNumbersWithinTheWhole(t *testing.T) {
	const spec = `{"replicas":6,"template":{"spec":{"containers":[{"name":"a"}]}}}`
	pin := func(cluster, value string) string {
		return `{"clusterName":"` + cluster + `","clusterOverrides":[{"path":"/spec/paused","value":true},{"path":"/spec/replicas","value":` + value + `}]}`
	}
	for name, test := range map[string]struct {
		overrides string
		pins      []ClusterReplicas
		want      []string
	}{
		"none":             {`[]`, nil, nil},
		"within":           {`[` + pin("c1", "4") + `,` + pin("c2", "0") + `]`, []ClusterReplicas{{"c1", 4}, {"c2", 0}}, nil},
		"the whole":        {`[` + pin("c1", "6") + `]`, []ClusterReplicas{{"c1", 6}}, nil},
		"above it":         {`[` + pin("c1", "4") + `,` + pin("c2", "3") + `]`, nil, []string{"spec.overrides[1].clusterOverrides[1].value: pin 7 replicas, but the template wants 6"}},
		"a word":           {`[` + pin("c1", `"many"`) + `]`, nil, []string{"spec.overrides[0].clusterOverrides[1].value: a whole number from 0"}},
		"a half":           {`[` + pin("c1", "0.5") + `]`, nil, []string{"spec.overrides[0].clusterOverrides[1].value: a whole number from 0"}},
		"fewer than none":  {`[` + pin("c1", "-1") + `]`, nil, []string{"spec.overrides[0].clusterOverrides[1].value: a whole number from 0"}},
		"more than number": {`[` + pin("c1", "4294967297") + `]`, nil, []string{"spec.overrides[0].clusterOverrides[1].value: a whole number from 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := deployment(t, spec, test.overrides)
			pins, _ := d.Pins()
			if diff := cmp.Diff(test.pins, pins); diff != "" {
				t.Errorf("pins (-want +got):\n%s", diff)
			}
			wantErrors(t, d.Validate(), test.want...)
		})
	}
}

func TestTemplateThatIsNoServiceNamesItsField(t *testing.T) {
	for name, test := range map[string]struct {
		spec string
		want []string
	}{
		"a plain one":      {`{"ports":[{"port":80}]}`, nil},
		"a headless one":   {`{"clusterIP":"None"}`, nil},
		"no port":          {`{}`, []string{"spec.template.spec.ports: name at least one port"}},
		"an address":       {`{"clusterIP":"10.0.0.1","ports":[{"port":80}]}`, []string{"spec.template.spec.clusterIP: remove it, or set None"}},
		"another's name":   {`{"type":"ExternalName","ports":[{"port":80}]}`, []string{`spec.template.spec.type: supported values: "ClusterIP", "NodePort", "LoadBalancer"`}},
		"a misspelt field": {`{"port":80}`, []string{"spec.template.spec.port: correct its name"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &FederatedService{Spec: FederatedServiceSpec{Template: ServiceTemplate{Spec: apiextensionsv1.JSON{Raw: []byte(test.spec)}}}}
			wantErrors(t, s.Validate(), test.want...)
		})
	}
}

func TestShareIsWhatAPreferenceSaysOfOneCluster(t *testing.T) {
	two, nine, none := ClusterWeight(2), new(int32(9)), new(int32(0))
	table := map[string]ClusterWeight{"c1": 8}
	for name, test := range map[string]struct {
		preference *ReplicaPreference
		want       ClusterShare
	}{
		"no preference":             {nil, ClusterShare{Weight: 1, Min: 1}},
		"an empty one":              {&ReplicaPreference{}, ClusterShare{Weight: 1, Min: 1}},
		"a weight":                  {&ReplicaPreference{Weight: table}, ClusterShare{Weight: 8, Min: 1}},
		"weights of others":         {&ReplicaPreference{Weight: map[string]ClusterWeight{"c2": 1}}, ClusterShare{Weight: 0, Min: 1}},
		"a weight of others in one": {&ReplicaPreference{Clusters: map[string]ClusterPreference{"c2": {Weight: &two}}}, ClusterShare{Weight: 1, Min: 1}},
		"bounds of all":             {&ReplicaPreference{MinReplicas: none, MaxReplicas: nine}, ClusterShare{Weight: 1, Min: 0, Max: nine}},
		"its own":                   {&ReplicaPreference{Weight: map[string]ClusterWeight{"c2": 1}, MinReplicas: none, Clusters: map[string]ClusterPreference{"c1": {Weight: &two, MinReplicas: nine, MaxReplicas: none}}}, ClusterShare{Weight: 2, Min: 9, Max: none}},
		"one of its own":            {&ReplicaPreference{Weight: table, MaxReplicas: nine, Clusters: map[string]ClusterPreference{"c1": {MaxReplicas: none}}}, ClusterShare{Weight: 8, Min: 1, Max: none}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.preference.Share("c1")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPeriodIsFiveMinutesUnlessSaid(t *testing.T) {
	var none *ReplicaPreference
	if got := none.Period(); got != 5*time.Minute {
		t.Errorf("without a preference it is %s", got)
	}
	if got := (&ReplicaPreference{}).Period(); got != 5*time.Minute {
		t.Errorf("unsaid it is %s", got)
	}
	if got := (&ReplicaPreference{RebalancePeriod: &metav1.Duration{Duration: time.Minute}}).Period(); got != time.Minute {
		t.Errorf("of 1m it is %s", got)
	}
}

func TestViewOfLessThanNothingNamesItsField(t *testing.T) {
	list := func(cpu string) corev1.ResourceList { return corev1.ResourceList{"cpu": resource.MustParse(cpu)} }
	v := ClusterView{Spec: ClusterViewSpec{Nodes: []ViewNode{
		{Name: "a", Allocatable: list("1"), Allocated: list("2")},
		{Name: "b", Allocatable: list("-1"), Allocated: list("-1m")},
	}}}
	wantErrors(t, v.Validate(), "spec.nodes[1].allocatable.cpu: not be less than 0", "spec.nodes[1].allocated.cpu: not be less than 0")
}

func TestEveryMemberHasANamespaceOfItsOwn(t *testing.T) {
	if got := MemberNamespace("north-1"); got != "weir-member-north-1" {
		t.Errorf("of north-1 it is %s", got)
	}
	long := strings.Repeat("a", 253)
	seen := map[string]string{}
	for _, cluster := range []string{"north-1", strings.Repeat("a", 51), strings.Repeat("a", 52), long, long[1:], "a.b", "a-b", "a.b.", strings.Repeat("a.", 40) + "c"} {
		name := MemberNamespace(cluster)
		if msgs := validation.IsDNS1123Label(name); len(msgs) > 0 {
			t.Errorf("of %s it is %s: %v", cluster, name, msgs)
		}
		if other, ok := seen[name]; ok {
			t.Errorf("%s and %s share %s", cluster, other, name)
		}
		seen[name] = cluster
	}
}
