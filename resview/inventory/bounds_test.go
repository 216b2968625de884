// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/weir-io/weir/mesh/istio"
	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/stream"
)

// nowhere is the vault of a client that never joins.
type nowhere struct{}

func (nowhere) Load(context.Context) (stream.Identity, error) { return stream.Identity{}, nil }
func (nowhere) Save(context.Context, stream.Identity) error   { return nil }

// hub returns a client that checks what it is given as a hub would.
func hub(tb testing.TB) *stream.Client {
	tb.Helper()
	c, err := stream.NewClient(stream.ClientConfig{
		Hub: "127.0.0.1:1", Cluster: "c1", Vault: nowhere{},
		HubCA: func() ([]byte, error) { return nil, nil }, Hello: func(context.Context) *pb.Hello { return &pb.Hello{} },
	})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// fill puts values of any length and any characters where users write what they like.
func fill(r *rapid.T, o *objects) {
	text := func(what string) string {
		s := rapid.StringN(0, 20, -1).Draw(r, what)
		return strings.Repeat(s, rapid.SampledFrom([]int{1, 1, 400}).Draw(r, what+" times"))
	}
	s := globalService("demo", "echo", func(s *corev1.Service) {
		s.Annotations["weir.io/ttl"] = text("ttl")
		s.Annotations["weir.io/hostname"] = text("hostname")
		for i := range rapid.IntRange(0, 100).Draw(r, "annotations") {
			s.Annotations[fmt.Sprintf("weir.io/extra-%d", i)] = "x"
		}
	})
	bad := globalService("demo", "bad")
	bad.Annotations["weir.io/global"] = text("global")
	o.services = append(o.services, s, bad)
	o.pods = append(o.pods,
		appPod("demo", "echo", "echo-1"),
		istiodPod("istiod-1", withEnv("CLUSTER_ID", text("cluster")), withEnv("REVISION", text("revision"))),
		istiodPod("istiod-2", withEnv("CLUSTER_ID", text("another cluster"))),
		gatewayPod("ingress", "ingress", withEnv("ISTIO_META_CLUSTER_ID", text("gateway's cluster"))))
	o.settings.mesh.rootNamespace = text("root")
	o.settings.meshError = text("error")
	for i := range rapid.SampledFrom([]int{0, 3, 300}).Draw(r, "rules") {
		rule := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": istio.APIVersion, "kind": rapid.SampledFrom([]string{"VirtualService", "DestinationRule", "Sidecar"}).Draw(r, "kind"),
			"metadata": map[string]any{"namespace": "demo", "name": fmt.Sprintf("rule-%d", i)},
			"spec": map[string]any{
				"hosts": []any{"echo"}, "host": "echo", "http": []any{map[string]any{"name": text("route")}},
				"egress": []any{map[string]any{"hosts": []any{"other/*"}}},
			},
		}}
		o.rules = append(o.rules, rule)
	}
}

func TestTheHubTakesWhateverAMemberHolds(t *testing.T) {
	client := hub(t)
	rapid.Check(t, func(r *rapid.T) {
		o := objects{istioNamespace: "istio-system", namespaces: []*corev1.Namespace{namespace("demo", nil)}}
		fill(r, &o)
		x := newIndex(o)
		p := newPicture(x, newRuleBook(x), 1)
		if err := client.SetMember(p.member); err != nil {
			r.Errorf("member: %v", err)
		}
		if p.services[echo] == nil {
			r.Fatal("the service is missing")
		}
		for k, s := range p.services {
			if err := client.SetService(s); err != nil {
				r.Errorf("service %s: %v", k, err)
			}
		}
	})
}

func virtualService(name string, spec map[string]any, size int) *unstructured.Unstructured {
	spec["http"] = []any{map[string]any{"name": strings.Repeat("x", size)}}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": istio.APIVersion, "kind": "VirtualService",
		"metadata": map[string]any{"namespace": "demo", "name": name},
		"spec":     spec,
	}}
}

func TestRulesThatMatterMostAreKeptWhereNotAllFit(t *testing.T) {
	o := objects{istioNamespace: "istio-system"}
	for i := range 300 {
		o.rules = append(o.rules, virtualService(fmt.Sprintf("a-client-%d", i), map[string]any{
			"hosts": []any{"shop.example.com"}, "gateways": []any{"main"},
			"tcp": []any{map[string]any{"route": []any{map[string]any{"destination": map[string]any{"host": "echo"}}}}},
		}, 10))
	}
	o.rules = append(o.rules,
		virtualService("z-same-host", map[string]any{"hosts": []any{"echo"}}, 10),
		virtualService(istio.ObjectName("echo", false), map[string]any{"hosts": []any{"other"}}, 10))
	kept, leftOut := newRuleBook(newIndex(o)).choose("demo", "echo")
	if len(kept) != maxRules || leftOut != 302-maxRules {
		t.Fatalf("%d rules kept, %d left out", len(kept), leftOut)
	}
	if kept[0].GetName() != "weir-echo" || kept[1].GetName() != "z-same-host" {
		t.Errorf("first come %s and %s; want what stands in weir's place, then what blocks it", kept[0].GetName(), kept[1].GetName())
	}
}

func TestRulesOfOneServiceFitIntoOneMessage(t *testing.T) {
	o := objects{istioNamespace: "istio-system"}
	for i := range 100 {
		o.rules = append(o.rules, virtualService(fmt.Sprintf("large-%d", i), map[string]any{"hosts": []any{"echo"}}, maxRuleBytes-500))
	}
	kept, leftOut := newRuleBook(newIndex(o)).choose("demo", "echo")
	size := 0
	for _, r := range kept {
		size += len(r.GetObject())
	}
	if size > maxRulesBytes || len(kept)+leftOut != 100 || len(kept) == 0 {
		t.Errorf("%d rules of %d bytes kept, %d left out", len(kept), size, leftOut)
	}
}

func TestARuleThatIsTooLargeIsStillKnownToCoverItsHost(t *testing.T) {
	book := newRuleBook(newIndex(objects{
		istioNamespace: "istio-system",
		rules:          []*unstructured.Unstructured{virtualService("huge", map[string]any{"hosts": []any{"echo"}}, maxRuleBytes)},
	}))
	kept, _ := book.choose("demo", "echo")
	if len(kept) != 1 || len(kept[0].GetObject()) > maxRuleBytes || len(book.outlined) != 1 {
		t.Fatalf("kept %d rules, outlined %v", len(kept), book.outlined)
	}
	var o map[string]any
	if err := json.Unmarshal(kept[0].GetObject(), &o); err != nil {
		t.Fatal(err)
	}
	rule, err := istio.ParseRule(o)
	if err != nil {
		t.Fatal(err)
	}
	in := istio.Input{Service: istio.Service{Namespace: "demo", Name: "echo"}}
	if found := istio.Foreign(in, []istio.Rule{rule}); len(found) != 1 || found[0].Code != istio.SameHost {
		t.Errorf("the hub would find %v", found)
	}
}

func TestARuleOfOursThatIsTooLargeIsStillKnownAsOurs(t *testing.T) {
	u := virtualService("weir-echo", map[string]any{"hosts": []any{"echo"}}, maxRuleBytes)
	u.SetLabels(map[string]string{istio.LabelManagedBy: istio.ManagedBy, istio.LabelService: "echo"})
	meta := u.Object["metadata"].(map[string]any)
	meta["managedFields"] = []any{
		map[string]any{"manager": istio.FieldManager, "operation": "Apply", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:http": map[string]any{}}}},
		map[string]any{"manager": "labeller", "operation": "Update", "fieldsV1": map[string]any{"f:metadata": map[string]any{}}},
	}
	wire, whole := wireRule(kept(t, u))
	var o map[string]any
	if err := json.Unmarshal(wire.GetObject(), &o); err != nil {
		t.Fatal(err)
	}
	if rule, err := istio.ParseRule(o); err != nil || whole || !rule.Ours() || len(rule.Owners()) != 0 {
		t.Errorf("whole %v, ours %v, owners %v, error %v", whole, rule.Ours(), rule.Owners(), err)
	}
}

func TestARuleWhoseOutlineIsTooLargeIsNamedAlone(t *testing.T) {
	u := virtualService("huge", map[string]any{"hosts": []any{strings.Repeat("h", maxRuleBytes)}}, 10)
	rule, whole := wireRule(u)
	if whole || len(rule.GetObject()) > maxRuleBytes || !json.Valid(rule.GetObject()) || rule.GetName() != "huge" {
		t.Errorf("whole %v, %d bytes", whole, len(rule.GetObject()))
	}
}

func TestSidecarsThatHideTheHostAreCutShort(t *testing.T) {
	o := objects{istioNamespace: "istio-system"}
	for i := range 100 {
		o.rules = append(o.rules, object(t, fmt.Sprintf(
			"{apiVersion: networking.istio.io/v1, kind: Sidecar, metadata: {namespace: ns-%d, name: narrow}, spec: {egress: [{hosts: [./*]}]}}", i)))
	}
	kept, leftOut := newRuleBook(newIndex(o)).choose("demo", "echo")
	if len(kept) != maxOutOfSight || leftOut != 100-maxOutOfSight {
		t.Errorf("%d kept, %d left out", len(kept), leftOut)
	}
}

func TestTooManyPodsAreReportedAndNotCutShort(t *testing.T) {
	o := objects{istioNamespace: "istio-system", services: []*corev1.Service{globalService("demo", "echo")}}
	for i := range maxPods + 1 {
		o.pods = append(o.pods, appPod("demo", "echo", fmt.Sprintf("echo-%d", i)))
	}
	x := newIndex(o)
	p := newPicture(x, newRuleBook(x), 1)
	if n := len(p.services[echo].GetPods()); n != maxPods+1 {
		t.Errorf("%d pods; the hub would take the rest for gone", n)
	}
	if !hasFinding(p.member, "ServiceTooLarge") {
		t.Errorf("no finding: %v", p.member.GetFindings())
	}
}

func hasFinding(m *pb.MemberFacts, check string) bool {
	for _, f := range m.GetFindings() {
		if f.GetCheck() == check {
			return true
		}
	}
	return false
}

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	for text, want := range map[string]string{"abc": "abc", "abcdefgh": "abcd", "abcäöü": "abc", "a\nb\x1bc\u0085d": "a b "} {
		if got := line(text, 4); got != want {
			t.Errorf("line(%q, 4) = %q, want %q", text, got, want)
		}
	}
}
