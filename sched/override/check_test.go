// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package override

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/weir-io/weir/api/v1alpha1"
)

// federated makes a federated object of a template and of overrides for c2, in JSON.
func federated[T any](t *testing.T, template string, overrides []v1alpha1.FieldOverride) *T {
	t.Helper()
	all, err := json.Marshal([]v1alpha1.ClusterOverride{{ClusterName: "c1", ClusterOverrides: changes("/spec/nobody", "1")}, {ClusterName: "c2", ClusterOverrides: overrides}})
	if err != nil {
		t.Fatal(err)
	}
	out := new(T)
	if err := json.Unmarshal(fmt.Appendf(nil, `{"spec":{"template":%s,"overrides":%s}}`, template, all), out); err != nil {
		t.Fatal(err)
	}
	return out
}

func told(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return out
}

const (
	at          = "spec.overrides[1].clusterOverrides"
	unknown     = ": the Deployment that this weir knows has no such field: correct its name, or remove it"
	quantity    = ": must be a quantity: a number with or without a unit, such as 500m or 2Gi"
	wholeNumber = ": must be a whole number of at most 32 bits"
	byObjects   = ", and what a path makes on its way are objects: set it as a whole"
	containers  = "spec.template.spec.containers"
)

func TestAnOverrideThatMakesNoDeploymentIsNamedWithItsClusterAndField(t *testing.T) {
	for name, c := range map[string]struct {
		changes []v1alpha1.FieldOverride
		want    []string
	}{
		"a field that is none": {changes("/spec/paused", "true", "/spec/replica", "3"), []string{
			at + `[1].path: Invalid value: "/spec/replica": for c2, spec.replica` + unknown,
		}},
		"one of a container": {changes("/spec/template/spec/containers/0/imagee", `"b"`), []string{
			at + `[0].path: Invalid value: "/spec/template/spec/containers/0/imagee": for c2, ` + containers + "[0].imagee" + unknown,
		}},
		"a way through one": {changes("/spec/tmplate/spec/x", "{}"), []string{
			at + `[0].path: Invalid value: "/spec/tmplate/spec/x": for c2, spec.tmplate` + unknown,
		}},
		"one within the value": {changes("/spec/template/spec/containers/1", `{"name":"log","imagee":"b"}`), []string{
			at + `[0].value: Invalid value: "imagee": for c2, ` + containers + "[1].imagee" + unknown,
		}},
		"no quantity": {changes("/spec/template/spec/containers/0/resources/requests/cpu", `"lots"`), []string{
			at + `[0].value: Invalid value: "lots": for c2, ` + containers + "[0].resources.requests.cpu" + quantity,
		}},
		"another type": {changes("/spec/minReadySeconds", `"x"`, "/spec/template/spec", `{"containers":{}}`), []string{
			at + `[0].value: Invalid value: "x": for c2, spec.minReadySeconds` + wholeNumber,
			at + `[1].value: Invalid value: "{…}": for c2, ` + containers + ": must be a list",
		}},
		"a list by its element": {changes("/spec/template/spec/volumes/0/name", `"v"`), []string{
			at + `[0].path: Invalid value: "/spec/template/spec/volumes/0/name": for c2, spec.template.spec.volumes: must be a list` + byObjects,
		}},
		"no container": {changes("/spec/template/spec/containers", "[]"), []string{
			at + "[0].value: Required value: for c2, " + containers + ": name at least one container, with its image",
		}},
		"the nearest of two": {changes("/spec/template/spec/containers/0", `{"name":"web"}`, "/spec/template/spec/containers/0/imagee", `"b"`), []string{
			at + `[1].path: Invalid value: "/spec/template/spec/containers/0/imagee": for c2, ` + containers + "[0].imagee" + unknown,
		}},
		"names that begin alike": {changes("/spec/template/metadata/labels/app.k8s.io~1name", "7", "/spec/template/metadata/labels/app", `"web"`), []string{
			at + `[0].value: Invalid value: "7": for c2, spec.template.metadata.labels.app.k8s.io/name: must be text: put it in quotes`,
		}},
		"an annotation that is no text": {changes("/metadata/annotations/a~1b", "true", "/metadata/labels/a/b", `"c"`), []string{
			at + `[0].value: Invalid value: "true": for c2, metadata.annotations.a/b: must be text: put it in quotes`,
			at + `[1].path: Invalid value: "/metadata/labels/a/b": for c2: there is nothing below a label or an annotation: write a / in its name as ~1`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := federated[v1alpha1.FederatedDeployment](t, deployment, c.changes)
			if _, errs := d.Deployment(); len(errs) > 0 {
				t.Fatal(errs)
			}
			made, errs := Deployment(d, "c2")
			if diff := cmp.Diff(c.want, told(errs)); diff != "" || made != nil {
				t.Errorf("%v (-want +got)\n%s", made, diff)
			}
		})
	}
}

func TestAnOverrideThatMakesNoServiceIsNamedWithItsClusterAndField(t *testing.T) {
	for name, c := range map[string]struct {
		changes []v1alpha1.FieldOverride
		want    string
	}{
		"a field that is none":   {changes("/spec/replicas", "3"), at + `[0].path: Invalid value: "/spec/replicas": for c2, spec.replicas: the Service that this weir knows has no such field: correct its name, or remove it`},
		"one of a port":          {changes("/spec/ports/0/targetport", "8080"), at + `[0].path: Invalid value: "/spec/ports/0/targetport": for c2, spec.ports[0].targetport: the Service that this weir knows has no such field: correct its name, or remove it`},
		"another type":           {changes("/spec/ports/0/port", `"http"`), at + `[0].value: Invalid value: "http": for c2, spec.ports[0].port` + wholeNumber},
		"a type that is not led": {changes("/spec/type", `"ExternalName"`), at + `[0].value: Unsupported value: "ExternalName": for c2, spec.type: supported values: "ClusterIP", "NodePort", "LoadBalancer"`},
		"an address":             {changes("/spec/clusterIP", `"10.0.0.1"`), at + "[0].value: Forbidden: for c2, spec.clusterIP: each member gives its own: remove it, or set None"},
	} {
		t.Run(name, func(t *testing.T) {
			s := federated[v1alpha1.FederatedService](t, `{"spec":{"ports":[{"port":80}]}}`, c.changes)
			made, errs := Service(s, "c2")
			if diff := cmp.Diff([]string{c.want}, told(errs)); diff != "" || made != nil {
				t.Errorf("%v (-want +got)\n%s", made, diff)
			}
		})
	}
	// A headless Service without ports, to which an override gives an address: no override by itself is where it is wrong.
	s := federated[v1alpha1.FederatedService](t, `{"spec":{"clusterIP":"None"}}`, changes("/spec/clusterIP", `""`))
	_, errs := Service(s, "c2")
	if diff := cmp.Diff([]string{at + ": Required value: for c2, spec.ports: name at least one port"}, told(errs)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWhatOverridesMakeIsLookedAtWithoutItsReplicas(t *testing.T) {
	d := federated[v1alpha1.FederatedDeployment](t, deployment, changes("/spec/replicas", "2", "/spec/template/spec/terminationGracePeriodSeconds", "9223372036854775807"))
	made, errs := Deployment(d, "c2")
	if len(errs) > 0 || made.Spec.Replicas != nil || *made.Spec.Template.Spec.TerminationGracePeriodSeconds != 1<<63-1 || made.Spec.Template.Spec.Containers[0].Image != "a" {
		t.Errorf("%+v, %v", made, errs)
	}
	d.Spec.Overrides[1].ClusterOverrides = changes("/spec/replicas", "2")
	for _, cluster := range []string{"c2", "c3"} {
		if made, errs := Deployment(d, cluster); made != nil || len(errs) > 0 {
			t.Errorf("%s: %v, %v", cluster, made, errs)
		}
	}
	s := federated[v1alpha1.FederatedService](t, `{"spec":{"ports":[{"port":80}]}}`, changes("/spec/ports/0/port", "81"))
	if made, errs := Service(s, "c2"); len(errs) > 0 || made.Spec.Ports[0].Port != 81 {
		t.Errorf("%+v, %v", made, errs)
	}
	if made, errs := Service(s, "c3"); made != nil || len(errs) > 0 {
		t.Errorf("%v, %v", made, errs)
	}
}

func FuzzDeployment(f *testing.F) {
	f.Add("/spec/replica", "4")
	f.Add("/metadata/labels/a~1b", `"x"`)
	f.Add("/spec/template/spec/containers/0/ports", `[{"containerPort":"x"}]`)
	f.Fuzz(func(t *testing.T, path, value string) {
		if !json.Valid([]byte(value)) || path == "" || path[0] != '/' {
			return
		}
		made, errs := Deployment(federated[v1alpha1.FederatedDeployment](t, deployment, changes(path, value)), "c2")
		if made != nil && len(errs) > 0 {
			t.Errorf("a Deployment, and %v", errs)
		}
	})
}
