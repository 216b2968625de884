// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/api/admission"
)

// kindServer does with an object of one kind what an API server does between decoding and storing it.
type kindServer struct{ admission.Checker }

// servers makes one kindServer for each kind, as the chart would install them.
func servers(t *testing.T) map[string]kindServer {
	t.Helper()
	checkers, err := admission.Checkers()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]kindServer, len(checkers))
	for kind, checker := range checkers {
		out[kind] = kindServer{checker}
	}
	return out
}

// admit fills in defaults, in place, and says why the object is refused. A nil old object means it is created.
func (s kindServer) admit(t *testing.T, obj, old map[string]any) field.ErrorList {
	t.Helper()
	if old == nil {
		return s.Create(t.Context(), obj)
	}
	return s.Update(t.Context(), obj, old)
}

// objects decodes each document of a file.
func objects(t *testing.T, path string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for doc := range bytes.SplitSeq(data, []byte("\n---\n")) {
		out = append(out, object(t, string(doc)))
	}
	return out
}

// object decodes one manifest with the numbers that an API server would see.
func object(t *testing.T, manifest string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(manifest))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, manifest)
	}
	out := map[string]any{}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%v in:\n%s", err, manifest)
	}
	return out
}

// text joins errors for a look at all of them.
func text(errs field.ErrorList) string {
	lines := make([]string, 0, len(errs))
	for _, err := range errs {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}
