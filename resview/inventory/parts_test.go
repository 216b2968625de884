// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/weir-io/weir/resview/pb"
)

func TestTrimLeavesItsInputAndTrimmingAgainChangesNothing(t *testing.T) {
	rule := object(t, `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {namespace: demo, name: r, managedFields: [{manager: a, fieldsV1: {"f:spec": {}}}, {manager: b, subresource: status}], annotations: {a: b}}
spec: {hosts: [echo]}
status: {x: y}`)
	for name, o := range map[string]runtime.Object{
		"pod":         appPod("demo", "echo", "echo-1", func(p *corev1.Pod) { p.Annotations = map[string]string{annotationProxyConfig: "x", "y": "z"} }),
		"istiod":      istiodPod("istiod-1"),
		"service":     globalService("demo", "echo"),
		"namespace":   namespace("demo", map[string]string{"a": "b"}),
		"replicaset":  replicaSetOf("demo", "echo"),
		"deployment":  deployment("demo", "echo", 2),
		"statefulset": &appsv1.StatefulSet{ObjectMeta: meta("demo", "s")},
		"daemonset":   &appsv1.DaemonSet{ObjectMeta: meta("demo", "d")},
		"budget":      &policyv1.PodDisruptionBudget{ObjectMeta: meta("demo", "b"), Status: policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 1}},
		"rule":        rule,
	} {
		t.Run(name, func(t *testing.T) {
			before := o.DeepCopyObject()
			once := kept(t, o)
			if d := cmp.Diff(before, o); d != "" {
				t.Errorf("trim changed the object that it was given (-before +after):\n%s", d)
			}
			if d := cmp.Diff(once, kept(t, once)); d != "" {
				t.Errorf("trimming twice differs (-once +twice):\n%s", d)
			}
		})
	}
	unknown := cache.DeletedFinalStateUnknown{Key: "demo/echo"}
	if got := kept(t, unknown); got != unknown {
		t.Errorf("a deletion became %v", got)
	}
}

func TestTrimForgetsWhatIsNotRead(t *testing.T) {
	p := kept(t, appPod("demo", "echo", "echo-1", func(p *corev1.Pod) {
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "PASSWORD", Value: "secret"}}
		p.Annotations = map[string]string{"token": "secret"}
	}))
	if p.Spec.Containers[0].Env != nil || p.Annotations != nil {
		t.Errorf("an application's own settings are kept: %v", p)
	}
	i := kept(t, istiodPod("istiod-1", func(p *corev1.Pod) {
		p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: "SECRET", ValueFrom: &corev1.EnvVarSource{}})
	}))
	for _, e := range i.Spec.Containers[0].Env {
		if e.ValueFrom != nil {
			t.Errorf("a reference is kept: %v", e)
		}
	}
}

func TestLoadsAreFilledInWithoutChangingTheFacts(t *testing.T) {
	load := func(namespace, name, uid string) *pb.Load {
		if namespace == "demo" && name == "echo-1" {
			return &pb.Load{Measured: true, Arrivals: uint64(len(uid))}
		}
		return nil
	}
	facts := &pb.ServiceFacts{
		Ref: &pb.ServiceRef{Namespace: "demo", Name: "echo"}, Annotations: map[string]string{"a": "b"},
		Pods: []*pb.Pod{{Name: "echo-1", Uid: "abc", Ready: true}, {Name: "echo-2"}}, Rules: []*pb.Rule{{Name: "r"}},
	}
	before := proto.CloneOf(facts)
	got := WithLoads(facts, load)
	want := proto.CloneOf(before)
	want.Pods[0].Load = &pb.Load{Measured: true, Arrivals: 3}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Errorf("facts with loads (-want +got):\n%s", d)
	}
	if d := cmp.Diff(before, facts, protocmp.Transform()); d != "" {
		t.Errorf("the facts themselves changed (-before +after):\n%s", d)
	}

	member := &pb.MemberFacts{Network: "net1", Gateways: []*pb.GatewayFacts{{Name: "demo/echo-1", EastWest: true}, {Name: "demo/other"}}}
	m := WithGatewayLoads(member, load)
	if !m.GetGateways()[0].GetLoad().GetMeasured() || m.GetGateways()[1].GetLoad() != nil || m.GetNetwork() != "net1" || !m.GetGateways()[0].GetEastWest() {
		t.Errorf("member with loads: %v", m)
	}
	if member.GetGateways()[0].GetLoad() != nil {
		t.Error("the member's facts themselves changed")
	}
}

func TestScopesChangeWithWhatASidecarLetsIn(t *testing.T) {
	sidecar := func(namespace, hosts string) *unstructured.Unstructured {
		return object(t, "{apiVersion: networking.istio.io/v1, kind: Sidecar, metadata: {namespace: "+namespace+", name: default, resourceVersion: \"1\"}, spec: {egress: [{hosts: ["+hosts+"]}]}}")
	}
	scopes := func(rules ...*unstructured.Unstructured) map[string]string {
		return newIndex(objects{
			istioNamespace: "istio-system", rules: rules,
			pods: []*corev1.Pod{appPod("a", "x", "x-1"), appPod("b", "y", "y-1")},
		}).scopes()
	}
	if got := scopes(); len(got) != 0 {
		t.Errorf("without Sidecars: %v", got)
	}
	own := scopes(sidecar("a", "./*"))
	if own["a"] == "" || own["b"] != "" {
		t.Errorf("a Sidecar of one namespace: %v", own)
	}
	touched := sidecar("a", "./*")
	touched.SetResourceVersion("2")
	if again := scopes(touched); again["a"] != own["a"] {
		t.Error("a Sidecar that says the same changed the scope")
	}
	if wider := scopes(sidecar("a", "'*/*'")); wider["a"] == own["a"] {
		t.Error("a Sidecar that lets in more did not change the scope")
	}
	root := scopes(sidecar("a", "./*"), sidecar("istio-system", "./*"))
	if root["a"] == own["a"] || root["b"] == "" {
		t.Errorf("a Sidecar of the root namespace: %v", root)
	}
}

func TestVersionsAreReadFromWhatIstiodSaysAndFromTags(t *testing.T) {
	for in, want := range map[string]string{
		"1.31.0-3fa52b1c-Clean": "1.31.0", "1.31.0-unknown-unknown\n": "1.31.0", "1.31.0-rc.1-abc-Clean": "1.31.0-rc.1", "1.31": "1.31", "": "",
	} {
		if got := shortVersion(in); got != want {
			t.Errorf("shortVersion(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"docker.io/istio/pilot:1.30.2": "1.30.2", "pilot:1.31.0-distroless": "1.31.0", "registry:5000/pilot": "",
		"r/pilot:1.31.0-rc.1@sha256:abc": "1.31.0-rc.1", "r/pilot:latest": "", "r/pilot:1": "",
	} {
		if got := imageVersion(in); got != want {
			t.Errorf("imageVersion(%q) = %q, want %q", in, got, want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"1.29.9", "1.30", -1}, {"1.30.0", "1.30", 0}, {"1.9.0", "1.30", -1}, {"1.31.0-rc.1", "1.30", 1}, {"2.0.0", "1.30", 1}} {
		if got := compareVersions(c.a, c.b); got != c.want {
			t.Errorf("compareVersions(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestMeshSettingsTellWhetherProxiesCountWhatComesIn(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		counts bool
		drain  time.Duration
	}{
		"nothing set":        {"", false, defaultDrain},
		"regular expression": {`defaultConfig: {proxyStatsMatcher: {inclusionRegexps: ['http\.inbound_.*downstream_rq.*']}, terminationDrainDuration: 20s}`, true, 20 * time.Second},
		"prefix":             {"defaultConfig: {proxyStatsMatcher: {inclusionPrefixes: [http.inbound]}}", true, defaultDrain},
		"suffix":             {"defaultConfig: {proxyStatsMatcher: {inclusionSuffixes: [downstream_rq_total]}}", true, defaultDrain},
		"another statistic":  {"defaultConfig: {proxyStatsMatcher: {inclusionPrefixes: [cluster.outbound]}}", false, defaultDrain},
		"only a part":        {"defaultConfig: {proxyStatsMatcher: {inclusionRegexps: [downstream_rq]}}", false, defaultDrain},
		"not an expression":  {"defaultConfig: {proxyStatsMatcher: {inclusionRegexps: ['(']}}", false, defaultDrain},
		"not a duration":     {"defaultConfig: {terminationDrainDuration: soon}", false, defaultDrain},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseMesh(c.text)
			if err != nil || got.counts != c.counts || got.drain != c.drain {
				t.Errorf("%+v, error %v", got, err)
			}
		})
	}
	if _, err := parseMesh("{"); err == nil {
		t.Error("a text that is no YAML was read")
	}
}

func TestTheDomainOfServicesIsIstiods(t *testing.T) {
	args := func(a ...string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.Containers[0].Args = a } }
	for want, pods := range map[string][]*corev1.Pod{
		"cluster.local": nil,
		"mesh.example":  {istiodPod("istiod-1", args("discovery", "--domain", "mesh.example"))},
		"mesh.test":     {istiodPod("istiod-1", args("discovery", "--domain=mesh.test"))},
	} {
		if got := newIndex(objects{istioNamespace: "istio-system", pods: pods}).domain(); got != want {
			t.Errorf("domain %q, want %q", got, want)
		}
	}
}

func TestADeletedOwnerLeavesItsReplicaSetOnTop(t *testing.T) {
	p := appPod("demo", "echo", "echo-1")
	if got := newIndex(objects{}).owner(p); got != "ReplicaSet/echo-rs" {
		t.Errorf("owner %q", got)
	}
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Name: "not-in-control"}}
	if got := newIndex(objects{}).owner(p); got != "" {
		t.Errorf("owner %q of a pod that nobody controls", got)
	}
}
