// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"strings"
	"testing"
)

// federated is a spec with a template that holds and an empty placement, with fields of a test's own in place of those.
func federated(template string, fields ...string) string {
	out := map[string]string{"template": "template: " + template, "placement": "placement: {}"}
	for _, f := range fields {
		name, _, _ := strings.Cut(f, ":")
		out[name] = f
	}
	lines := make([]string, 0, len(out))
	for _, line := range out {
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestBadFederatedObjectsAreRefusedWithFieldAndWayOut(t *testing.T) {
	const (
		deployment = "{spec: {template: {spec: {containers: [{name: a, image: b}]}}}}"
		service    = "{spec: {ports: [{port: 80}]}}"
		target     = "targetRef: {apiVersion: federation.weir.io/v1alpha1, kind: FederatedDeployment, name: web}"
	)
	fdep := func(fields ...string) string { return federated(deployment, fields...) }
	annotated := func(line string) string { return federated("{metadata: {annotations: {" + line + "}}, spec: {}}") }
	override := func(path string) string {
		return fdep("overrides: [{clusterName: c1, clusterOverrides: [{path: " + path + ", value: 1}]}]")
	}
	tolerate := func(t string) string { return fdep("placement: {clusterTolerations: [" + t + "]}") }
	match := func(e string) string {
		return fdep("placement: {clusterAffinity: {fieldSelector: {matchExpressions: [" + e + "]}}}")
	}
	rsp := func(fields string) string { return target + "\n" + fields }
	kinds := servers(t)
	for name, test := range map[string]struct{ kind, spec, field, wayOut string }{
		"deployment of nothing":            {"FederatedDeployment", "placement: {}", "spec.template", "Required value"},
		"deployment of no spec":            {"FederatedDeployment", federated("{}"), "spec.template.spec", "Required value"},
		"deployment placed nowhere said":   {"FederatedDeployment", "template: " + deployment, "spec.placement", "Required value"},
		"deployment of fewer than none":    {"FederatedDeployment", federated("{spec: {replicas: -1}}"), "spec.template.spec.replicas", "greater than or equal to 0"},
		"deployment of many as a word":     {"FederatedDeployment", federated("{spec: {replicas: many}}"), "spec.template.spec.replicas", "must be of type integer"},
		"deployment with a named template": {"FederatedDeployment", federated("{metadata: {name: web}, spec: {}}"), "spec.template.metadata.name", "unknown field"},
		"override without a path":          {"FederatedDeployment", fdep("overrides: [{clusterName: c1, clusterOverrides: [{value: 1}]}]"), "spec.overrides[0].clusterOverrides[0].path", "Required value"},
		"override without a value":         {"FederatedDeployment", fdep("overrides: [{clusterName: c1, clusterOverrides: [{path: /spec/replicas}]}]"), "spec.overrides[0].clusterOverrides[0].value", "Required value"},
		"override with a null":             {"FederatedDeployment", fdep("overrides: [{clusterName: c1, clusterOverrides: [{path: /spec/replicas, value: null}]}]"), "spec.overrides[0].clusterOverrides[0].value", "Required value"},
		"override with dots":               {"FederatedDeployment", override("spec.replicas"), "spec.overrides[0].clusterOverrides[0].path", "must be a JSON pointer with no empty part"},
		"override with a loose tilde":      {"FederatedDeployment", override("/spec/a~2"), "spec.overrides[0].clusterOverrides[0].path", "write ~1 for a / and ~0 for a ~"},
		"override of the name":             {"FederatedDeployment", override("/metadata/name"), "spec.overrides[0].clusterOverrides[0].path", "must point into /spec, /metadata/labels or /metadata/annotations"},
		"override of one path twice":       {"FederatedDeployment", fdep("overrides: [{clusterName: c1, clusterOverrides: [{path: /spec/a, value: 1}, {path: /spec/a, value: 2}]}]"), "spec.overrides[0].clusterOverrides[1]", "Duplicate value"},
		"override of one cluster twice":    {"FederatedDeployment", fdep("overrides: [{clusterName: c1, clusterOverrides: [{path: /spec/a, value: 1}]}, {clusterName: c1, clusterOverrides: [{path: /spec/b, value: 2}]}]"), "spec.overrides[1]", "Duplicate value"},
		"override for a cluster elsewhere": {"FederatedDeployment", fdep("placement: {clusters: [{name: c2}]}", "overrides: [{clusterName: c1, clusterOverrides: [{path: /spec/a, value: 1}]}]"), "spec.overrides", "add it there, or remove the override"},
		"replicas retained":                {"FederatedDeployment", fdep("retainedFields: [/spec/replicas]"), "spec.retainedFields", "pin a cluster's by an override"},
		"metadata retained":                {"FederatedDeployment", fdep("retainedFields: [/metadata/finalizers]"), "spec.retainedFields[0]", "must point into /spec"},
		"placement in one cluster twice":   {"FederatedDeployment", fdep("placement: {clusters: [{name: c1}, {name: c1}]}"), "spec.placement.clusters[1]", "Duplicate value"},
		"placement by spread":              {"FederatedDeployment", fdep("placement: {spreadConstraints: []}"), "spec.placement.spreadConstraints", "unknown field"},
		"placement by planet":              {"FederatedDeployment", match("{key: planet, operator: In, values: [a]}"), "spec.placement.clusterAffinity.fieldSelector.matchExpressions[0].key", `supported values: "region", "zone"`},
		"placement by a field that exists": {"FederatedDeployment", match("{key: zone, operator: Exists, values: [a]}"), "spec.placement.clusterAffinity.fieldSelector.matchExpressions[0].operator", `supported values: "In", "NotIn"`},
		"placement in none of no zones":    {"FederatedDeployment", match("{key: zone, operator: In, values: []}"), "spec.placement.clusterAffinity.fieldSelector.matchExpressions[0].values", "at least 1 items"},
		"toleration of any value of one":   {"FederatedDeployment", tolerate("{key: a, operator: Exists, value: b}"), "spec.placement.clusterTolerations[0].value", "remove value, or set operator: Equal"},
		"toleration of nothing":            {"FederatedDeployment", tolerate("{value: b}"), "spec.placement.clusterTolerations[0].key", "name the key, or set operator: Exists"},
		"toleration of an odd effect":      {"FederatedDeployment", tolerate("{key: a, effect: Never}"), "spec.placement.clusterTolerations[0].effect", `supported values: "NoSchedule"`},

		"service of nothing":              {"FederatedService", "placement: {}", "spec.template", "Required value"},
		"service of a list":               {"FederatedService", federated("{spec: []}"), "spec.template.spec", "must be of type object"},
		"service for a cluster elsewhere": {"FederatedService", federated(service, "placement: {clusters: [{name: c2}]}", "overrides: [{clusterName: c1, clusterOverrides: [{path: /spec/a, value: 1}]}]"), "spec.overrides", "add it there, or remove the override"},
		"service global as a habit":       {"FederatedService", annotated("weir.io/global: 'yes'"), "spec.template.metadata.annotations", "weir.io/global must be 'true', in quotes"},
		"service with a misspelt wish":    {"FederatedService", annotated("weir.io/trafficpolicy: a"), "spec.template.metadata.annotations", "use weir.io/global, weir.io/traffic-policy"},
		"service with an endless TTL":     {"FederatedService", annotated("weir.io/ttl: 2h"), "spec.template.metadata.annotations", "weir.io/ttl must be whole seconds or minutes, at least 1s and at most 1h"},
		"service with a long TTL":         {"FederatedService", annotated("weir.io/ttl: 3601s"), "spec.template.metadata.annotations", "at most 1h, such as 5s"},
		"service with no TTL":             {"FederatedService", annotated("weir.io/ttl: 0s"), "spec.template.metadata.annotations", "at least 1s"},
		"service under half a name":       {"FederatedService", annotated("weir.io/hostname: api"), "spec.template.metadata.annotations", "weir.io/hostname must be a full name"},

		"preference of nothing":          {"ReplicaSchedulingPreference", "minReplicas: 1", "spec.targetRef", "Required value"},
		"preference of a plain workload": {"ReplicaSchedulingPreference", "targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}", "spec.targetRef", "set apiVersion: federation.weir.io/v1alpha1 and kind: FederatedDeployment"},
		"preference weighing twice":      {"ReplicaSchedulingPreference", rsp("weight: {c1: 1}\nclusters: {c1: {weight: 2}}"), "spec.weight", "leave it in one of them"},
		"preference of negative weight":  {"ReplicaSchedulingPreference", rsp("weight: {c1: -1}"), "spec.weight.c1", "greater than or equal to 0"},
		"preference upside down":         {"ReplicaSchedulingPreference", rsp("minReplicas: 3\nmaxReplicas: 2"), "spec.minReplicas", "lower minReplicas or raise maxReplicas"},
		"preference for none anywhere":   {"ReplicaSchedulingPreference", rsp("maxReplicas: 0"), "spec.maxReplicas", "greater than or equal to 1"},
		"preference odd in one cluster":  {"ReplicaSchedulingPreference", rsp("clusters: {c1: {minReplicas: 3, maxReplicas: 2}}"), "spec.clusters[c1].minReplicas", "lower minReplicas or raise maxReplicas"},
		"preference over the common max": {"ReplicaSchedulingPreference", rsp("maxReplicas: 2\nclusters: {c1: {minReplicas: 3}}"), "spec.clusters", "give that cluster a maxReplicas of its own"},
		"preference without rest":        {"ReplicaSchedulingPreference", rsp("rebalancePeriod: 0s"), "spec.rebalancePeriod", "between 1s and 24h, such as 5m"},
	} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, kinds[test.kind].admit(t, object(t, manifest(test.kind, test.spec)), nil), test.field, test.wayOut)
		})
	}
}

func TestBadRecordsAreRefusedWithFieldAndWayOut(t *testing.T) {
	const resource = "resource: {apiVersion: apps/v1, kind: Deployment, namespace: shop, name: web}\n"
	work := func(m string) string { return "workload: {manifests: [" + m + "]}" }
	kinds := servers(t)
	for name, test := range map[string]struct{ kind, spec, field, wayOut string }{
		"binding of nothing":           {"ResourceBinding", "replicas: 1", "spec.resource", "Required value"},
		"binding of fewer than none":   {"ResourceBinding", resource + "plan: [{name: c1, replicas: -1}]", "spec.plan[0].replicas", "greater than or equal to 0"},
		"binding to one cluster twice": {"ResourceBinding", resource + "replicas: 2\nclusters: [{name: c1, replicas: 1}, {name: c1, replicas: 1}]", "spec.clusters[1]", "Duplicate value"},

		"work of nothing":         {"Work", work(""), "spec.workload.manifests", "at least 1 items"},
		"work of a nameless one":  {"Work", work("{apiVersion: v1, kind: ConfigMap, metadata: {generateName: a-}}"), "spec.workload.manifests[0]", "name the object, since weir makes none with generateName"},
		"work of no kind":         {"Work", work("{apiVersion: v1, metadata: {name: a}}"), "spec.workload.manifests[0].kind", "Required value"},
		"work of no epoch at all": {"Work", work("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}") + "\nepoch: 0", "spec.epoch", "greater than or equal to 1"},

		"view from the future":       {"ClusterView", "ageSeconds: -1", "spec.ageSeconds", "greater than or equal to 0"},
		"view in doubtful health":    {"ClusterView", "health: Sick", "spec.health", `supported values: "Healthy", "Suspect", "Dead", "Partitioned"`},
		"view of a backward version": {"ClusterView", "version: -1", "spec.version", "greater than or equal to 0"},
		"view of a version in words": {"ClusterView", "version: new", "spec.version", "must be of type integer"},
		"view of an API in words":    {"ClusterView", "servedAPIs: [Deployment]", "spec.servedAPIs[0]", "should match"},
		"view of a nameless node":    {"ClusterView", "nodes: [{count: 1}]", "spec.nodes[0].name", "Required value"},
		"view of one node twice":     {"ClusterView", "nodes: [{name: a}, {name: a}]", "spec.nodes[1]", "Duplicate value"},
		"view of fewer than none":    {"ClusterView", "nodes: [{name: a, count: -1}]", "spec.nodes[0].count", "greater than or equal to 0"},
		"view of much memory":        {"ClusterView", "nodes: [{name: a, allocatable: {memory: much}}]", "spec.nodes[0].allocatable.memory", "should match"},
		"view of a wild number":      {"ClusterView", "nodes: [{name: a, allocatable: {cpu: 1E18446744073709551616}}]", "spec.nodes[0].allocatable.cpu", "write it with a suffix, such as 64Gi"},
		"view with a misspelt field": {"ClusterView", "nodes: [{name: a, allocable: {cpu: 1}}]", "spec.nodes[0].allocable", "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, kinds[test.kind].admit(t, object(t, manifest(test.kind, test.spec)), nil), test.field, test.wayOut)
		})
	}
}

func TestNamesThatMembersCannotBearAreRefused(t *testing.T) {
	kinds := servers(t)
	for name, test := range map[string]struct{ kind, spec, name, wayOut string }{
		"deployment longer than a label": {"FederatedDeployment", federated("{spec: {}}"), strings.Repeat("a", 64), "make it anew under a shorter or plainer name"},
		"deployment with dots":           {"FederatedDeployment", federated("{spec: {}}"), "a.b", "make it anew under a shorter or plainer name"},
		"service that starts as a digit": {"FederatedService", federated("{spec: {}}"), "1a", "make it anew under such a name"},
		"epoch of another name":          {"FederationEpoch", "hubUID: a\nepoch: 1", "other", "name it weir"},
		"object in capitals":             {"Work", "workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]}", "Web", "a lowercase RFC 1123 subdomain"},
	} {
		t.Run(name, func(t *testing.T) {
			obj := object(t, strings.Replace(manifest(test.kind, test.spec), "name: x", "name: "+test.name, 1))
			if errs := kinds[test.kind].admit(t, obj, nil); !strings.Contains(text(errs), test.wayOut) {
				t.Errorf("want an error that says %q, got:\n%s", test.wayOut, text(errs))
			}
		})
	}
}

// An epoch that could fall, or change hands unseen, would let an older hub write again.
func TestEpochOnlyGrows(t *testing.T) {
	server := servers(t)["FederationEpoch"]
	epoch := func(spec string) map[string]any {
		return object(t, strings.Replace(manifest("FederationEpoch", spec), "name: x", "name: weir", 1))
	}
	for name, test := range map[string]struct{ spec, refusal string }{
		"the same again":        {"hubUID: a\nepoch: 5", ""},
		"a newer leader":        {"hubUID: a\nepoch: 6", ""},
		"an older leader":       {"hubUID: a\nepoch: 4", "this one must stop writing"},
		"another hub, higher":   {"hubUID: b\nepoch: 6", ""},
		"another hub, the same": {"hubUID: b\nepoch: 5", "only a higher one gives the member to a new hub"},
		"another hub, lower":    {"hubUID: b\nepoch: 4", "this one must stop writing"},
	} {
		t.Run(name, func(t *testing.T) {
			errs := server.admit(t, epoch(test.spec), epoch("hubUID: a\nepoch: 5"))
			if test.refusal == "" && len(errs) > 0 || !strings.Contains(text(errs), test.refusal) {
				t.Errorf("want %q, got %q", test.refusal, text(errs))
			}
		})
	}
}

func TestResourceOfABindingCannotBeChanged(t *testing.T) {
	server := servers(t)["ResourceBinding"]
	binding := func(name string) map[string]any {
		return object(t, manifest("ResourceBinding", "resource: {apiVersion: apps/v1, kind: Deployment, namespace: shop, name: "+name+"}"))
	}
	if errs := server.admit(t, binding("web"), binding("web")); len(errs) > 0 {
		t.Errorf("the same again is refused:\n%s", text(errs))
	}
	wantRefused(t, server.admit(t, binding("api"), binding("web")), "spec.resource", "delete it and weir makes it anew")
}
