// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/weir-io/weir/e2e/load/echo"
)

// objects reads a rendered manifest.
func objects(t *testing.T, name string, data any) map[string]*unstructured.Unstructured {
	t.Helper()
	text, err := render(name, data)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*unstructured.Unstructured{}
	for d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := d.Decode(&o.Object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
		all[o.GetKind()] = o
	}
}

// typed reads an object strictly, so that a misspelt field is found.
func typed(t *testing.T, o *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, into, true); err != nil {
		t.Fatal(err)
	}
}

func TestTheApplicationKeepsItsLedgerOnTheNode(t *testing.T) {
	all := objects(t, "echo", server{Cluster: "c2", Replicas: 3, Ending: echo.Exit, LedgerDir: "/node/ledger"})
	var d appsv1.Deployment
	typed(t, all["Deployment"], &d)
	pod := d.Spec.Template.Spec
	if pod.Volumes[0].HostPath.Path != "/node/ledger" || *d.Spec.Replicas != 3 {
		t.Errorf("volumes %+v, replicas %d", pod.Volumes, *d.Spec.Replicas)
	}
	want := []string{"serve", "--listen=:8080", "--ledger=/ledger", "--on-sigterm=exit"}
	if diff := cmp.Diff(want, pod.Containers[0].Args); diff != "" {
		t.Error(diff)
	}
	if all["Service"].GetAnnotations()["weir.io/global"] != "true" {
		t.Error("the Service is not marked as global")
	}
}

func TestTheClientReadsItsControlAndWritesItsRecords(t *testing.T) {
	var d appsv1.Deployment
	typed(t, objects(t, "client", client{Cluster: "c1", Services: []string{"echo", "web"}, Rate: 20, Seed: 5, OutDir: "/node/out", ControlDir: "/node/control"})["Deployment"], &d)
	want := []string{
		"load", "--client=c1-mesh", "--target=http://echo.demo.svc.cluster.local:8080", "--target=http://web.demo.svc.cluster.local:8080",
		"--rate=20", "--seed=5", "--out=/out", "--control=/control", "--stay",
	}
	if diff := cmp.Diff(want, d.Spec.Template.Spec.Containers[0].Args); diff != "" {
		t.Error(diff)
	}
}

func TestTheWayInIsBoundToTheIngressGatewayAlone(t *testing.T) {
	all := objects(t, "ingress", ingress{Services: []string{"echo", "web"}})
	gateways, _, err := unstructured.NestedStringSlice(all["VirtualService"].Object, "spec", "gateways")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"demo/echo"}, gateways); diff != "" {
		t.Error(diff)
	}
}
