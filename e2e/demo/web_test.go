// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/load/echo"
	"github.com/weir-io/weir/sched/override"
)

// reread reads an object of weir's as JSON, strictly.
func reread(t *testing.T, o *unstructured.Unstructured, into any) {
	t.Helper()
	raw, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatal(err)
	}
}

func TestTheFederatedWorkloadDiffersByClusterInItsNameAndItsLedger(t *testing.T) {
	all := objects(t, "web", federated{Replicas: webReplicas, Policy: "pace", Ending: echo.Drain, Grace: grace, Members: []memberPart{{"c1", "/node/c1/ledger"}, {"c2", "/node/c2/ledger"}}})
	var d v1alpha1.FederatedDeployment
	reread(t, all["FederatedDeployment"], &d)
	if errs := d.Validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	if d.Wanted() != webReplicas {
		t.Errorf("%d replicas", d.Wanted())
	}
	template, errs := d.Deployment()
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(template)
	if err != nil {
		t.Fatal(err)
	}
	changes, path := override.For(d.Spec.Overrides, "c2")
	changed, errs := override.Apply(plain, changes, path)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	pod, _, err := unstructured.NestedMap(changed, "spec", "template", "spec")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"name":"CLUSTER","value":"c2"}`, `"path":"/node/c2/ledger"`, `"--on-sigterm=drain"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	var s v1alpha1.FederatedService
	reread(t, all["FederatedService"], &s)
	if errs := s.Validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	want := map[string]string{"weir.io/global": "true", "weir.io/traffic-policy": "pace"}
	if diff := cmp.Diff(want, s.Spec.Template.Metadata.Annotations); diff != "" {
		t.Error(diff)
	}
}

func TestADivisionAndItsDecisionAreToldInShort(t *testing.T) {
	var d v1alpha1.FederatedDeployment
	d.Namespace, d.Name = "demo", "web"
	n := int32(9)
	d.Spec.Template.Spec.Replicas = &n
	d.Status.Clusters = []v1alpha1.MemberReplicas{{Name: "c1", Ready: 5, Wanted: 5}, {Name: "c2", Ready: 1, Wanted: 4}}
	if got, want := division(d), "Ready replicas of demo/web, of 9: c1 5, c2 1 (wanted 4)."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var b v1alpha1.ResourceBinding
	b.Spec.Clusters = []v1alpha1.BindingCluster{{Name: "c1", Replicas: 8}, {Name: "c3", Replicas: 1}}
	b.Status.History = []v1alpha1.DecisionRecord{{}, {
		Trigger: v1alpha1.TriggerCapacityChanged, Reasons: []v1alpha1.DecisionReason{{Cluster: "c3", Code: "NoNode", Message: "the view has no node"}},
	}}
	want := []string{"decided by CapacityChanged: c1 8, c3 1", "c3: NoNode, the view has no node"}
	if diff := cmp.Diff(want, decision(b)); diff != "" {
		t.Error(diff)
	}
	if got := decision(v1alpha1.ResourceBinding{}); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestReplicasMustComeUpElsewhereBeforeAnyGoes(t *testing.T) {
	at := 0
	step := func(kind, cluster, service string) Step {
		at++
		return Step{Goal: "Drain", Kind: kind, Cluster: cluster, Service: service, Time: time.Unix(int64(at), 0)}
	}
	web := func(kind, cluster string) Step { return step(kind, cluster, "demo/web") }
	up1, up3, down, done := web("ReplicasUp", "c1"), web("ReplicasUp", "c3"), web("ReplicasDown", "c2"), web("Done", "c2")
	for name, c := range map[string]struct {
		steps []Step
		ok    bool
	}{
		"up, up, down":     {[]Step{up1, step("Done", "c2", "demo/echo"), up3, down, done}, true},
		"what comes later": {[]Step{up1, down, done, down, up1}, true},
		"down before up":   {[]Step{up1, down, up3, done}, false},
		"none came up":     {[]Step{down, done}, false},
		"none went":        {[]Step{up1, done}, false},
		"not ended":        {[]Step{up1, down}, false},
		"nothing":          {nil, false},
	} {
		if err := checkOrder(c.steps, "demo/web", "c2"); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStepsThatChangeReplicasAreToldWithTheirProofs(t *testing.T) {
	n := int32(0)
	proof := Proof{Level: "Proven", Istiods: []IstiodProof{{Proxies: []ProxyProof{{Name: "a"}, {Name: "b"}}}}}
	got := told([]Step{
		{Goal: "Drain", Kind: "Split", Cluster: "c2"},
		{Goal: "Drain", Kind: "ReplicasDown", Cluster: "c2", Service: "demo/web", Time: time.Unix(0, 0), Replicas: &n, Weights: proof, Fence: proof},
	})
	want := []string{"00:00:00.0 Drain   ReplicasDown of demo/web: c2 to 0, weights Proven by 2 proxies, fence Proven by 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
