// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// header starts a manifest of a kind; what follows is indented under spec.
const header = `
apiVersion: federation.weir.io/v1alpha1
kind: %s
metadata:
  name: x
spec:
%s`

func manifest(kind, spec string) string {
	return fmt.Sprintf(header, kind, "  "+strings.ReplaceAll(strings.Trim(spec, "\n"), "\n", "\n  "))
}

// wantRefused wants one of the errors to stand at a field and to tell a way out.
func wantRefused(t *testing.T, errs field.ErrorList, path, wayOut string) {
	t.Helper()
	for _, err := range errs {
		if err.Field == path && strings.Contains(err.Error(), wayOut) {
			return
		}
	}
	t.Errorf("want an error at %s that says %q, got:\n%s", path, wayOut, text(errs))
}

// registration is a Cluster's spec with one line more, or with a line of its own in place of one that it has.
func registration(line string) string {
	fields := map[string]string{
		"apiEndpoint": "apiEndpoint: https://c1.example.com:6443",
		"caBundle":    "caBundle: " + base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----")),
	}
	name, _, _ := strings.Cut(line, ":")
	fields[name] = line
	var out []string
	for _, field := range fields {
		out = append(out, field)
	}
	return strings.Join(out, "\n")
}

func TestBadObjectsAreRefusedWithFieldAndWayOut(t *testing.T) {
	kinds := servers(t)
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for name, test := range map[string]struct {
		kind, spec string
		field      string // where the user has to look
		wayOut     string // what the message tells to do
	}{
		"cluster over plain http": {"Cluster", registration("apiEndpoint: http://c1.example.com"), "spec.apiEndpoint", "must be an https URL with a host, such as https://"},
		"cluster without scheme":  {"Cluster", registration("apiEndpoint: c1.example.com:6443"), "spec.apiEndpoint", "must be an https URL"},
		"cluster without host":    {"Cluster", registration("apiEndpoint: 'https://:6443'"), "spec.apiEndpoint", "with a host"},
		"cluster without endpoint": {
			"Cluster", "caBundle: " + encode("-----BEGIN CERTIFICATE-----"), "spec.apiEndpoint", "Required value",
		},
		"cluster without CA":          {"Cluster", "apiEndpoint: https://c1.example.com", "spec.caBundle", "Required value"},
		"cluster with CA not PEM":     {"Cluster", registration("caBundle: " + encode("hello")), "spec.caBundle", "certificate-authority-data of a kubeconfig"},
		"cluster with CA not base64":  {"Cluster", registration("caBundle: '-----BEGIN CERTIFICATE-----'"), "spec.caBundle", "byte"},
		"cluster with a key as CA":    {"Cluster", registration("caBundle: " + encode("-----BEGIN CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----")), "spec.caBundle", "leave only CERTIFICATE blocks, and replace that key"},
		"cluster beating never":       {"Cluster", registration("heartbeatInterval: 0s"), "spec.heartbeatInterval", "between 1s and 10m, such as 10s"},
		"cluster beating backwards":   {"Cluster", registration("heartbeatInterval: -10s"), "spec.heartbeatInterval", "between 1s and 10m, such as 10s"},
		"cluster beating in no unit":  {"Cluster", registration("heartbeatInterval: '10'"), "spec.heartbeatInterval", "between 1s and 10m, such as 10s"},
		"cluster beating as a number": {"Cluster", registration("heartbeatInterval: 10"), "spec.heartbeatInterval", "must be of type string"},
		"cluster dead after nothing":  {"Cluster", registration("deadAfter: 0s"), "spec.deadAfter", "between 1s and 24h, such as 30s"},
		"cluster suspect at once":     {"Cluster", registration("suspectAfter: 0"), "spec.suspectAfter", "greater than or equal to 1"},
		"cluster with a new mode":     {"Cluster", registration("syncMode: Both"), "spec.syncMode", `supported values: "Push", "Pull"`},
		"cluster half autonomous":     {"Cluster", registration("edgeAutonomy: Half"), "spec.edgeAutonomy", `supported values: "Disabled", "Enabled"`},
		"cluster with a free price":   {"Cluster", registration("price: {cpuPerHour: cheap}"), "spec.price.cpuPerHour", "should match"},
		"cluster with a wild number":  {"Cluster", registration("capacity: {cpu: 1E18446744073709551616}"), "spec.capacity", "write it with a suffix, such as 2560Gi"},
		"cluster with a bad taint":    {"Cluster", registration("taints: [{key: a, effect: Never}]"), "spec.taints[0].effect", `supported values: "NoSchedule"`},
		"cluster tainted twice":       {"Cluster", registration("taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoSchedule}]"), "spec.taints[1]", "Duplicate value"},
		"cluster with a nameless key": {"Cluster", registration("credentialsSecretRef: {}"), "spec.credentialsSecretRef.name", "Required value"},
		"cluster with a typing error": {"Cluster", registration("heartBeatInterval: 10s"), "spec.heartBeatInterval", "unknown field"},

		"policy with an unknown mode":      {"TrafficPolicy", "mode: Random", "spec.mode", `supported values: "FollowReplicas"`},
		"policy with weights unasked":      {"TrafficPolicy", "weights: {c1: 1}", "spec.weights", "set mode: Static and weights, or remove weights"},
		"policy static without weights":    {"TrafficPolicy", "mode: Static", "spec.weights", "set mode: Static and weights, or remove weights"},
		"policy with no weight at all":     {"TrafficPolicy", "mode: Static\nweights: {c1: 0, c2: 0}", "spec.weights", "give at least one cluster a weight above 0"},
		"policy with a negative weight":    {"TrafficPolicy", "mode: Static\nweights: {c1: -1, c2: 1}", "spec.weights.c1", "greater than or equal to 0"},
		"policy with a fraction":           {"TrafficPolicy", "mode: Static\nweights: {c1: 0.5, c2: 1}", "spec.weights.c1", "must be of type int32"},
		"policy with order unasked":        {"TrafficPolicy", "order: [c1, c2]", "spec.order", "set mode: ActivePassive and order, or remove order"},
		"policy active without order":      {"TrafficPolicy", "mode: ActivePassive", "spec.order", "set mode: ActivePassive and order, or remove order"},
		"policy with a standby of itself":  {"TrafficPolicy", "mode: ActivePassive\norder: [c1, c1]", "spec.order", "name each cluster once"},
		"policy without standby":           {"TrafficPolicy", "mode: ActivePassive\norder: [c1]", "spec.order", "at least 2 items"},
		"policy with locality unasked":     {"TrafficPolicy", "locality: {}", "spec.locality", "set mode: Locality and locality, or remove locality"},
		"policy local without locality":    {"TrafficPolicy", "mode: Locality", "spec.locality", "set mode: Locality and locality, or remove locality"},
		"policy near after anywhere":       {"TrafficPolicy", "mode: Locality\nlocality: {order: [Any, Zone]}", "spec.locality.order", "put Any last"},
		"policy near twice":                {"TrafficPolicy", "mode: Locality\nlocality: {order: [Zone, Zone]}", "spec.locality.order", "at most once"},
		"policy next to itself":            {"TrafficPolicy", "mode: Locality\nlocality: {regionOrder: [{from: a, to: [b, a]}]}", "spec.locality.regionOrder[0].to", "remove it from to"},
		"policy overflowing into itself":   {"TrafficPolicy", "overflow: [{from: c1, to: c1}]", "spec.overflow[0].to", "name another one in to"},
		"policy swinging":                  {"TrafficPolicy", "overflow: [{from: c1, to: c2, abovePercent: 50}]", "spec.overflow[0].belowPercent", "lower belowPercent or raise abovePercent"},
		"policy overflowing nothing":       {"TrafficPolicy", "overflow: [{from: c1, to: c2, movePercent: 0}]", "spec.overflow[0].movePercent", "greater than or equal to 1"},
		"policy overflowing twice":         {"TrafficPolicy", "overflow: [{from: c1, to: c2}, {from: c1, to: c2}]", "spec.overflow[1]", "Duplicate value"},
		"policy overflowing to a standby":  {"TrafficPolicy", "mode: ActivePassive\norder: [c1, c2]\noverflow: [{from: c1, to: c2}]", "spec.overflow", "remove overflow, or use mode Static or FollowReplicas"},
		"policy inverting nothing":         {"TrafficPolicy", "onFailure: InvertWeights", "spec.onFailure", "set mode: Static, or onFailure: Spill"},
		"policy standing still":            {"TrafficPolicy", "pace: {maxStepPercent: 0}", "spec.pace.maxStepPercent", "greater than or equal to 1"},
		"policy fencing backwards":         {"TrafficPolicy", "pace: {fenceStepPods: -1}", "spec.pace.fenceStepPods", "greater than or equal to 0"},
		"policy retrying everything":       {"TrafficPolicy", "retries: {mode: Always}", "spec.retries.mode", `supported values: "Auto", "Idempotent", "Safe"`},
		"policy with a retry budget":       {"TrafficPolicy", "retries: {budget: 20}", "spec.retries.budget", "unknown field"},
		"policy asking for half of a room": {"TrafficPolicy", "headroom: Some", "spec.headroom", `supported values: "Warn", "Require"`},
		"policy for an odd namespace":      {"TrafficPolicy", "clients: {namespaces: [Shop]}", "spec.clients.namespaces[0]", "should match"},
		"policy steering at times":         {"TrafficPolicy", "steering: Sometimes", "spec.steering", `supported values: "Always", "OnDemand"`},

		"drain of nothing":             {"ClusterDrain", "desired: OutOfService", "spec.clusterName", "Required value"},
		"drain of an empty name":       {"ClusterDrain", "clusterName: ''", "spec.clusterName", "at least 1 chars long"},
		"drain into the unknown":       {"ClusterDrain", "clusterName: c2\ndesired: Away", "spec.desired", `supported values: "OutOfService", "InService"`},
		"drain with odd patience":      {"ClusterDrain", "clusterName: c2\nproxyTimeout: soon", "spec.proxyTimeout", "such as 2m, or 0s to wait for ever"},
		"drain with endless patience":  {"ClusterDrain", "clusterName: c2\nquietTimeout: 1000h", "spec.quietTimeout", "between 1s and 24h, such as 5m"},
		"drain without patience":       {"ClusterDrain", "clusterName: c2\nquietTimeout: 0s", "spec.quietTimeout", "between 1s and 24h, such as 5m"},
		"drain that ignores headroom":  {"ClusterDrain", "clusterName: c2\nheadroomLoss: Ignore", "spec.headroomLoss", `supported values: "Wait", "Accept"`},
		"drain that forces last copy":  {"ClusterDrain", "clusterName: c2\nlastCopy: Force", "spec.lastCopy", `supported values: "Refuse", "Skip"`},
		"drain with a misspelled flag": {"ClusterDrain", "clusterName: c2\nforce: true", "spec.force", "unknown field"},

		"plan with too much weight":      {"GlobalService", "clusters: [{name: c1, weight: 1001}]", "spec.clusters[0].weight", "less than or equal to 1000"},
		"plan that loses traffic":        {"GlobalService", "phase: Weights\nclusters: [{name: c1, weight: 400}, {name: c2, weight: 500}]", "spec.clusters", "must sum to 1000"},
		"plan of weights for nobody":     {"GlobalService", "phase: Weights", "spec.clusters", "must sum to 1000"},
		"plan for one cluster twice":     {"GlobalService", "clusters: [{name: c1, weight: 0}, {name: c1, weight: 0}]", "spec.clusters[1]", "Duplicate value"},
		"plan of a backward generation":  {"GlobalService", "generation: -1", "spec.generation", "greater than or equal to 0"},
		"plan that fences fewer than no": {"GlobalService", "clusters: [{name: c1, weight: 0, fencedPods: -1}]", "spec.clusters[0].fencedPods", "greater than or equal to 0"},
		"plan with unknown phase":        {"GlobalService", "phase: Later", "spec.phase", `supported values: "None", "DestinationRules", "Weights"`},
		"plan with odd pods":             {"GlobalService", "clusters: [{name: c1, weight: 0, newPods: Maybe}]", "spec.clusters[0].newPods", `supported values: "Open", "Fenced"`},
	} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, kinds[test.kind].admit(t, object(t, manifest(test.kind, test.spec)), nil), test.field, test.wayOut)
		})
	}
}

func TestClusterOfADrainCannotBeChanged(t *testing.T) {
	server := servers(t)["ClusterDrain"]
	before := object(t, manifest("ClusterDrain", "clusterName: c2"))
	if errs := server.admit(t, before, nil); len(errs) > 0 {
		t.Fatal(text(errs))
	}
	turned := object(t, manifest("ClusterDrain", "clusterName: c2\ndesired: InService"))
	if errs := server.admit(t, turned, before); len(errs) > 0 {
		t.Errorf("turning round is refused:\n%s", text(errs))
	}
	moved := object(t, manifest("ClusterDrain", "clusterName: c3"))
	if errs := server.admit(t, moved, before); !strings.Contains(text(errs), "delete this ClusterDrain") {
		t.Errorf("moving to another cluster: want a refusal that says the way out, got %q", text(errs))
	}
}
