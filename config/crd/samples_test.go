// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/weir-io/weir/api/v1alpha1"
)

// sameDuration holds 10m and 10m0s to be the same.
var sameDuration = cmp.Comparer(func(a, b string) bool {
	x, errX := time.ParseDuration(a)
	y, errY := time.ParseDuration(b)
	return a == b || errX == nil && errY == nil && x == y
})

func TestEverySampleIsAdmittedAndSurvivesItsGoType(t *testing.T) {
	files, err := filepath.Glob("../samples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	scheme.AddKnownTypes(v1alpha1.GroupVersion, &v1alpha1.ClusterView{}) // Only files have it.
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	kinds := servers(t)
	seen := map[string]int{}
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		for _, obj := range objects(t, file) {
			kind, _ := obj["kind"].(string)
			if kind == "Namespace" {
				continue
			}
			seen[kind]++
			server, ok := kinds[kind]
			if !ok {
				t.Errorf("%s: kind %q has no definition", file, kind)
				continue
			}
			if errs := server.admit(t, obj, nil); len(errs) > 0 {
				t.Errorf("%s is refused:\n%s", file, text(errs))
			}
			// Decoded strictly and encoded again, the object with its defaults is the same but for an empty status.
			data, err := json.Marshal(obj)
			if err != nil {
				t.Fatal(err)
			}
			typed, _, err := strict.Decode(data, nil, nil)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			back, err := json.Marshal(typed)
			if err != nil {
				t.Fatal(err)
			}
			again := object(t, string(back))
			if _, ok := obj["status"]; !ok {
				delete(again, "status")
			}
			if diff := cmp.Diff(obj, again, sameDuration); diff != "" {
				t.Errorf("%s changes on its way through Go (-before +after):\n%s", file, diff)
			}
			if errs := server.admit(t, object(t, string(back)), nil); len(errs) > 0 {
				t.Errorf("%s, written by Go, is refused:\n%s", file, text(errs))
			}
		}
	}
	for kind := range kinds {
		if seen[kind] == 0 {
			t.Errorf("config/samples has no sample of kind %s", kind)
		}
	}
}

// An object that a controller makes from an empty Go value carries no field that the API server refuses.
func TestEmptyStatusIsAdmitted(t *testing.T) {
	kinds := servers(t)
	name := metav1.ObjectMeta{Name: "weir"}
	for _, obj := range []runtime.Object{
		&v1alpha1.GlobalService{ObjectMeta: name, Spec: v1alpha1.GlobalServiceSpec{Record: &v1alpha1.ShiftRecord{}}},
		&v1alpha1.TrafficPolicy{ObjectMeta: name},
		&v1alpha1.ClusterDrain{ObjectMeta: name, Spec: v1alpha1.ClusterDrainSpec{ClusterName: "north-1"}},
		&v1alpha1.Cluster{ObjectMeta: name, Spec: v1alpha1.ClusterSpec{APIEndpoint: "https://north-1.example.com", CABundle: []byte("-----BEGIN CERTIFICATE-----")}},
		&v1alpha1.FederatedDeployment{ObjectMeta: name},
		&v1alpha1.FederatedService{ObjectMeta: name, Spec: v1alpha1.FederatedServiceSpec{Template: v1alpha1.ServiceTemplate{Spec: apiextensionsv1.JSON{Raw: []byte("{}")}}}},
		&v1alpha1.ReplicaSchedulingPreference{ObjectMeta: name, Spec: v1alpha1.ReplicaSchedulingPreferenceSpec{
			TargetRef: v1alpha1.PreferenceTarget{APIVersion: v1alpha1.GroupVersion.String(), Kind: "FederatedDeployment", Name: "web"},
		}},
		&v1alpha1.ResourceBinding{ObjectMeta: name, Spec: v1alpha1.ResourceBindingSpec{
			Resource: v1alpha1.ResourceReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
		}},
		&v1alpha1.Work{ObjectMeta: name, Spec: v1alpha1.WorkSpec{Workload: v1alpha1.WorkloadManifests{Manifests: []v1alpha1.Manifest{
			{RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`)}},
		}}}},
		&v1alpha1.FederationEpoch{ObjectMeta: name, Spec: v1alpha1.FederationEpochSpec{HubUID: "u", Epoch: 1}},
		&v1alpha1.ClusterView{ObjectMeta: name},
	} {
		data, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		kind := reflect.TypeOf(obj).Elem().Name()
		if errs := kinds[kind].admit(t, object(t, string(data)), nil); len(errs) > 0 {
			t.Errorf("an empty %s is refused:\n%s", kind, text(errs))
		}
	}
}
