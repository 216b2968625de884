// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// node is as much of a JSON schema as the tests look at.
type node struct {
	Description          string          `json:"description"`
	Properties           map[string]node `json:"properties"`
	AdditionalProperties json.RawMessage `json:"additionalProperties"`
}

// keys lists the paths of a schema's properties and demands that each object is closed and each leaf described.
func (n node) keys(t *testing.T, path string) []string {
	t.Helper()
	if n.Properties == nil {
		if n.Description == "" {
			t.Errorf("schema: %s has no description", path)
		}
		return []string{path}
	}
	if string(n.AdditionalProperties) != "false" {
		t.Errorf("schema: %q takes unknown keys", path)
	}
	var out []string
	for name, child := range n.Properties {
		out = append(out, child.keys(t, strings.TrimPrefix(path+"."+name, "."))...)
	}
	return out
}

func TestSchemaIsClosedAndKnowsExactlyTheValues(t *testing.T) {
	raw, err := os.ReadFile("../values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema node
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	want := schema.keys(t, "")
	want = slices.DeleteFunc(want, func(key string) bool { return key == "global" }) // Helm's own.

	raw, err = os.ReadFile("../values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict(raw, &values); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, key := range want {
		known[key] = true
	}
	var got []string
	var walk func(path string, value any)
	walk = func(path string, value any) {
		object, ok := value.(map[string]any)
		if !ok || known[path] {
			got = append(got, path)
			return
		}
		for name, child := range object {
			walk(strings.TrimPrefix(path+"."+name, "."), child)
		}
	}
	walk("", values)
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys in the schema (-) and in values.yaml (+):\n%s", diff)
	}
}

var keyLine = regexp.MustCompile(`^( *)([A-Za-z]+):( .+)?$`)

// Each key that a person sets is explained right above it, or with its neighbours in one comment.
func TestEveryValueIsExplained(t *testing.T) {
	raw, err := os.ReadFile("../values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	comment := ""
	for number, line := range strings.Split(string(raw), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			comment = line + comment
			continue
		}
		if strings.TrimSpace(line) == "" {
			comment = ""
			continue
		}
		m := keyLine.FindStringSubmatch(line)
		if m != nil && m[3] != "" && comment == "" {
			t.Errorf("values.yaml:%d: %s has no comment above", number+1, m[2])
		}
	}
}

func TestBadValuesAreRefusedByKey(t *testing.T) {
	for name, test := range map[string]struct{ values, want string }{
		"no mode":            {"", "/mode"},
		"both modes":         {"mode: both", "/mode"},
		"hub without way in": {"mode: hub", "/hub/advertiseAddress"},
		"hub without port":   {"mode: hub\nhub: {advertiseAddress: weir.example.com}", "/hub/advertiseAddress"},
		"agent of nobody":    {"mode: agent\nagent: {hubAddress: 'a:1'}", "/agent/clusterName"},
		"agent to nowhere":   {"mode: agent\nagent: {clusterName: c1}", "/agent/hubAddress"},
		"agent with a capital": {
			"mode: agent\nagent: {clusterName: C1, hubAddress: 'a:1'}", "/agent/clusterName",
		},
		"agent without token":         {"mode: agent\nagent: {clusterName: c1, hubAddress: 'a:1'}", "/agent/join"},
		"agent that trusts anybody":   {"mode: agent\nagent: {clusterName: c1, hubAddress: 'a:1', joinToken: t}", "/agent/hubCA"},
		"a spelling mistake":          {hubValues + "loglevel: debug", "loglevel"},
		"one deep inside":             {agentValues[:len(agentValues)-2] + ", hubAccess: {guards: Off}}", "guards"},
		"an unknown level":            {hubValues + "logLevel: loud", "/logLevel"},
		"a negative budget":           {"mode: hub\nhub: {advertiseAddress: 'a:1', budget: {clusters: -1}}", "/hub/budget/clusters"},
		"time without unit":           {"mode: hub\nhub: {advertiseAddress: 'a:1', sightLostAfter: '30'}", "/hub/sightLostAfter"},
		"a collector by URL":          {"mode: hub\nhub: {advertiseAddress: 'a:1', otlp: {endpoint: 'http://collector:4317'}}", "/hub/otlp/endpoint"},
		"a collector without port":    {"mode: hub\nhub: {advertiseAddress: 'a:1', otlp: {endpoint: collector}}", "/hub/otlp/endpoint"},
		"a transport of its own":      {"mode: hub\nhub: {advertiseAddress: 'a:1', otlp: {transport: insecure}}", "/hub/otlp/transport"},
		"a zone by URL":               {"mode: hub\nhub: {advertiseAddress: 'a:1', dns: {zone: 'https://g.example.com'}}", "/hub/dns/zone"},
		"a name server of no name":    {"mode: hub\nhub: {advertiseAddress: 'a:1', dns: {nameServers: [{addresses: ['192.0.2.1']}]}}", "/hub/dns/nameServers"},
		"an answer for days":          {"mode: hub\nhub: {advertiseAddress: 'a:1', dns: {ttl: 2d}}", "/hub/dns/ttl"},
		"a half digest":               {hubValues + "image: {digest: sha256:abc}", "/image/digest"},
		"a lease of parts of seconds": {"mode: hub\nhub: {advertiseAddress: 'a:1', election: {leaseDuration: 1500ms}}", "/hub/election/leaseDuration"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render(test.values)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want an error about %s, got %v", test.want, err)
			}
		})
	}
}
