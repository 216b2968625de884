// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	gojson "encoding/json"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/api/v1alpha1"
)

// FuzzCreate: what has no error decodes into its Go type, or one bad object would blind a controller to all of its kind;
// and checking it again finds nothing either, and nothing makes it panic.
func FuzzCreate(f *testing.F) {
	files, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("no samples: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for doc := range bytes.SplitSeq(data, []byte("\n---\n")) {
			text, err := yaml.YAMLToJSON(doc)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	const head = `{"apiVersion":"federation.weir.io/v1alpha1","metadata":{"name":"a"},`
	for _, hard := range []string{
		`"kind":"ClusterView","spec":{"nodes":[{"name":"a","count":2.0,"allocatable":{"cpu":1.5,"memory":"1e99999999999999999999"}}]}}`,
		`"kind":"ClusterView","spec":{"version":9223372036854775807,"ageSeconds":1e3,"nodes":[{"name":"a","allocatable":{"cpu":"+.5Ki","b":"-0"}}]}}`,
		`"kind":"FederatedDeployment","spec":{"template":{"spec":{"replicas":6.0,"paused":1e400}},"placement":{}}}`,
		`"kind":"ReplicaSchedulingPreference","spec":{"targetRef":{"apiVersion":"federation.weir.io/v1alpha1","kind":"FederatedDeployment","name":"a"},"rebalancePeriod":"0.0000000000000000001h1s","weight":{"":1}}}`,
		`"kind":"Work","spec":{"workload":{"manifests":[{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}]},"notAfter":"2026-01-01T00:00:60Z"}}`,
		`"kind":"ResourceBinding","spec":{"resource":{"apiVersion":"v1","kind":"A","name":"a"},"resourceNeed":{"cpu":"1E18446744073709551616"},"nodeRequirements":{"tolerations":[{"tolerationSeconds":1.0}]}}}`,
	} {
		f.Add([]byte(head + hard))
	}
	all, err := Checkers()
	if err != nil {
		f.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		f.Fatal(err)
	}
	scheme.AddKnownTypes(v1alpha1.GroupVersion, &v1alpha1.ClusterView{})
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	f.Fuzz(func(t *testing.T, text []byte) {
		var obj map[string]any
		if json.Unmarshal(text, &obj) != nil {
			return
		}
		kind, _ := obj["kind"].(string)
		c, known := all[kind]
		if !known || obj["apiVersion"] != v1alpha1.GroupVersion.String() || len(c.Create(t.Context(), obj)) > 0 {
			return
		}
		admitted, err := gojson.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := strict.Decode(admitted, nil, nil); err != nil {
			t.Errorf("%s is admitted and does not decode: %v", admitted, err)
		}
		if errs := c.Create(t.Context(), obj); len(errs) > 0 {
			t.Errorf("%s is admitted once and not twice: %v", admitted, errs)
		}
	})
}
