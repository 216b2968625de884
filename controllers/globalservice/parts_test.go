// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/tracing"
	"github.com/weir-io/weir/mesh/istio"
	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/stream"
)

// viewed is a member that is heard and has the service.
func viewed(name string, f *pb.ServiceFacts) memberView {
	m := memberOf(name, nil)
	m.facts, m.member, m.since = f, mesh(name), now
	return m
}

func gateway(addresses ...string) *pb.GatewayFacts {
	return &pb.GatewayFacts{Name: "istio-system/east-west", EastWest: true, Addresses: addresses}
}

func TestAProverIsAskedForWhatIsFencedAndWhatIsOpen(t *testing.T) {
	two := facts(2, func(f *pb.ServiceFacts) {
		f.Pods[0].Fenced = true
		f.Pods = append(f.Pods, &pb.Pod{Name: "going", Ip: "10.1.0.8", Fenced: true, Terminating: true}, &pb.Pod{Name: "no-address", Ready: true}, &pb.Pod{Name: "starting", Ip: "10.1.0.9"})
	})
	c2 := viewed("c2", two)
	c2.member.Gateways = []*pb.GatewayFacts{gateway("172.16.0.2"), {Name: "ingress", Addresses: []string{"172.16.0.3"}}}
	in := &input{key: key, members: []memberView{viewed("c1", facts(1)), c2}}
	list := func(as []*pb.FencedAddress) (out []string) {
		for _, a := range as {
			s := a.GetCluster() + " " + a.GetIp()
			if a.GetGateway() {
				s += " gateway"
			}
			out = append(out, s)
		}
		return out
	}
	spec := split(7, map[string]int32{"c1": 1000, "c2": 0}, "c2")
	got := targetOf(in, spec, []v1alpha1.ServicePort{{Name: "http", Port: 80}}, true)
	if d := cmp.Diff([]string{"c2 10.1.0.1"}, list(got.GetFenced())); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"c1 10.1.0.1", "c2 10.1.0.2"}, list(got.GetOpen())); d != "" {
		t.Error(d)
	}
	if got.GetGeneration() != 7 || got.GetFenceGeneration() != 1 || got.GetPhase() != "Weights" || !got.GetActive() || len(got.GetPorts()) != 1 || len(got.GetSubsets()) != 2 {
		t.Errorf("got %v", got)
	}
	two.Pods[1].Fenced, two.Pods[3].Ip = true, ""
	two.Pods = two.Pods[:2]
	got = targetOf(in, spec, nil, true)
	if d := cmp.Diff([]string{"c2 10.1.0.1", "c2 10.1.0.2", "c2 172.16.0.2 gateway"}, list(got.GetFenced())); d != "" {
		t.Errorf("fenced whole, its gateways are closed too:\n%s", d)
	}
	if got = targetOf(in, v1alpha1.GlobalServiceSpec{Generation: 7, Phase: v1alpha1.RulesNone}, nil, false); got.GetGeneration() != 0 {
		t.Errorf("no rule stands, and generation %d is to be proven", got.GetGeneration())
	}
}

func TestNewPodsOfTheServiceAndOfNoOtherComeUpFenced(t *testing.T) {
	objects := admission(key, map[string]string{"app": "echo"})
	policy, binding := objects[0].object.Object, objects[1].object.Object
	at := func(o map[string]any, path ...string) any {
		v, _, _ := unstructured.NestedFieldCopy(o, path...)
		return v
	}
	for path, want := range map[string]any{
		"spec matchConstraints namespaceSelector matchLabels": map[string]any{"kubernetes.io/metadata.name": "demo"},
		"spec matchConstraints objectSelector matchLabels":    map[string]any{"app": "echo"},
		"spec failurePolicy": "Ignore",
	} {
		if d := cmp.Diff(want, at(policy, strings.Fields(path)...)); d != "" {
			t.Errorf("%s:\n%s", path, d)
		}
	}
	if at(binding, "spec", "policyName") != at(policy, "metadata", "name") || objects[0].ref.Name != objects[1].ref.Name {
		t.Errorf("the binding is of another policy: %v", binding)
	}
	other := admission(types.NamespacedName{Namespace: "demo", Name: "echo2"}, nil)
	if other[0].ref.Name == objects[0].ref.Name {
		t.Error("two services share one policy")
	}
}

func TestOnlyAClusterThatIsOffAndWasSafeToPowerOffIsAway(t *testing.T) {
	drain := func(cluster string, desired v1alpha1.DesiredService, drained metav1.ConditionStatus, safe bool) v1alpha1.ClusterDrain {
		d := v1alpha1.ClusterDrain{Spec: v1alpha1.ClusterDrainSpec{ClusterName: cluster, Desired: desired}}
		d.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionDrained, Status: drained}}
		d.Status.SafeToPowerOff = &safe
		return d
	}
	deleted, at := drain("c2", v1alpha1.OutOfService, "True", true), metav1.NewTime(now)
	deleted.DeletionTimestamp = &at
	silent := &stream.Snapshot{Cluster: "c2"}
	talking := &stream.Snapshot{Cluster: "c2", Connected: true, LastBeat: now}
	off, serving := v1alpha1.ReasonContactLost, v1alpha1.ReasonAgentSilent
	cases := map[string]struct {
		drain  v1alpha1.ClusterDrain
		snap   *stream.Snapshot
		reason string
		away   bool
	}{
		"drained and off":              {drain("c2", v1alpha1.OutOfService, "True", true), silent, off, true},
		"drained, hub starts again":    {drain("c2", v1alpha1.OutOfService, "True", true), nil, off, true},
		"drained and heard":            {drain("c2", v1alpha1.OutOfService, "True", true), talking, "Joined", false},
		"drained, heard again":         {drain("c2", v1alpha1.OutOfService, "True", true), talking, off, false},
		"drained, its agent is silent": {drain("c2", v1alpha1.OutOfService, "True", true), silent, serving, false},
		"drained and still called":     {drain("c2", v1alpha1.OutOfService, "True", false), silent, off, false},
		"half drained and off":         {drain("c2", v1alpha1.OutOfService, "False", false), silent, off, false},
		"on its way back":              {drain("c2", v1alpha1.InService, "True", true), silent, off, false},
		"its drain was deleted":        {deleted, silent, off, false},
		"another cluster drained":      {drain("c3", v1alpha1.OutOfService, "True", true), silent, off, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c2"}}
			cluster.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: "Unknown", Reason: c.reason}}
			if got := viewOf(key, cluster, c.snap, []v1alpha1.ClusterDrain{c.drain}, now, time.Minute); got.away != c.away {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAMemberIsSeenOnlyWhileItBeats(t *testing.T) {
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c2"}, Status: v1alpha1.ClusterStatus{Istio: &v1alpha1.IstioStatus{Network: "n2"}}}
	snap := &stream.Snapshot{Connected: true, LastBeat: now.Add(-time.Minute), InventoryComplete: true}
	if got := viewOf(key, cluster, snap, nil, now, time.Minute); !got.seen || !got.whole || !got.mesh || networkOf(got) != "n2" {
		t.Errorf("a minute after the beat: %+v", got)
	}
	if got := viewOf(key, cluster, snap, nil, now.Add(time.Millisecond), time.Minute); got.seen || got.whole {
		t.Errorf("later: %+v", got)
	}
	snap.Member.Value = &pb.MemberFacts{Network: "n3"}
	if got := viewOf(key, cluster, snap, nil, now, time.Minute); got.mesh || networkOf(got) != "n3" {
		t.Errorf("it says that it has no istiod: %+v", got)
	}
	snap.Member.Value.Proxies = 1
	if got := viewOf(key, cluster, snap, nil, now, time.Minute); !got.mesh {
		t.Errorf("a proxy follows what an istiod told it that is no more: %+v", got)
	}
	if got := networkOf(memberView{cluster: &v1alpha1.Cluster{}}); got != "" {
		t.Errorf("network %q", got)
	}
}

func TestRulesAreMadeForTheMembersOwnNetworkAndByThePolicy(t *testing.T) {
	c2 := viewed("c2", facts(2, func(f *pb.ServiceFacts) { f.TrafficDistribution = "PreferClose" }))
	c2.member.Network, c2.cluster.Spec.IstioClusterID = "n2", "west"
	c2.member.Gateways = []*pb.GatewayFacts{gateway("172.16.0.2", "172.16.0.3")}
	in := &input{key: key, config: Config{SystemNamespace: "istio-system"}, members: []memberView{viewed("c1", facts(1)), c2}}
	policy := v1alpha1.DefaultTrafficPolicySpec()
	policy.Clients = &v1alpha1.ClientScope{Namespaces: []string{"web"}}
	got := renderInput(in, split(4, map[string]int32{"c1": 700, "c2": 300}), policy, nil, c2)
	if got.ConfigCluster != "c2" || got.ConfigNetwork != "n2" || got.Generation != 4 || got.SystemNamespace != "istio-system" || got.Service.TrafficDistribution != "PreferClose" {
		t.Errorf("got %+v", got)
	}
	if !slices.Equal(got.ClientNamespaces, []string{"web", "demo"}) {
		t.Errorf("its own namespace sees the service too: %v", got.ClientNamespaces)
	}
	if c := got.Clusters[1]; c.IstioID != "west" || c.Network != "n2" || c.Endpoints != 2 || c.Permille != 300 {
		t.Errorf("c2: %+v", c)
	}
	if d := cmp.Diff([]istio.Gateway{{Cluster: "c2", Network: "n2", Addresses: 2}}, got.Gateways); d != "" {
		t.Error(d)
	}
	for mode, want := range map[v1alpha1.RetryMode]istio.Retries{v1alpha1.RetryAuto: istio.Auto, v1alpha1.RetryIdempotent: istio.Idempotent, v1alpha1.RetrySafe: istio.Safe, "": istio.Auto} {
		if got := retriesOf(v1alpha1.TrafficPolicySpec{Retries: v1alpha1.RetryPolicy{Mode: mode}}); got != want {
			t.Errorf("%s gives %v", mode, got)
		}
	}
}

func TestWeightsThatAreNotPlannedYetStandInEvenly(t *testing.T) {
	cases := map[string]struct{ in, want []int32 }{
		"none planned": {[]int32{0, 0, 0}, []int32{334, 333, 333}},
		"some planned": {[]int32{0, 1000, 0}, []int32{0, 1000, 0}},
		"nobody":       {nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var clusters []istio.Cluster
			for _, p := range c.in {
				clusters = append(clusters, istio.Cluster{Permille: p})
			}
			evenly(clusters)
			var got []int32
			for _, x := range clusters {
				got = append(got, x.Permille)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestThePortsOfTheOldestExportComeFirst(t *testing.T) {
	young := facts(1, func(f *pb.ServiceFacts) {
		f.CreatedUnix = 200
		f.Ports = []*pb.Port{{Name: "http", Port: 8080}, {Name: "grpc", Port: 9090}, {Name: "web", Port: 80}}
	})
	old := facts(1, func(f *pb.ServiceFacts) { f.CreatedUnix = 100 })
	in := &input{key: key, members: []memberView{viewed("c1", young), viewed("c2", old)}}
	want := []v1alpha1.ServicePort{{Name: "http", Port: 80, Protocol: "TCP"}, {Name: "grpc", Port: 9090, Protocol: "TCP"}}
	if d := cmp.Diff(want, portsOf(in)); d != "" {
		t.Error(d)
	}
	in.members = nil
	in.service = &v1alpha1.GlobalService{Status: v1alpha1.GlobalServiceStatus{Ports: want}}
	if d := cmp.Diff(want, portsOf(in)); d != "" {
		t.Errorf("nobody is heard, and the ports are forgotten:\n%s", d)
	}
}

func TestASpillIsTakenByTheOthersOrSaidToBeTooMuch(t *testing.T) {
	cluster := func(ready, fenced int32) v1alpha1.GlobalServiceClusterStatus {
		return v1alpha1.GlobalServiceClusterStatus{Ready: ready, Fenced: fenced}
	}
	cases := map[string]struct {
		clusters []v1alpha1.GlobalServiceClusterStatus
		want     int32
		none     bool
	}{
		"three alike":        {[]v1alpha1.GlobalServiceClusterStatus{cluster(3, 0), cluster(3, 0), cluster(3, 0)}, 3, false},
		"one is too large":   {[]v1alpha1.GlobalServiceClusterStatus{cluster(9, 0), cluster(2, 0)}, -7, false},
		"fenced pods do not": {[]v1alpha1.GlobalServiceClusterStatus{cluster(3, 0), cluster(3, 3), cluster(3, 0)}, 0, false},
		"one cluster alone":  {[]v1alpha1.GlobalServiceClusterStatus{cluster(3, 0)}, 0, true},
		"nothing is ready":   {[]v1alpha1.GlobalServiceClusterStatus{cluster(0, 0), cluster(0, 0)}, 0, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := spillHeadroom(c.clusters)
			if (got == nil) != c.none || got != nil && *got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestAServiceIsReadBackAsItStandsInTheMember(t *testing.T) {
	f := facts(0, func(f *pb.ServiceFacts) {
		f.Type, f.ClusterIp, f.SessionAffinity, f.InternalTrafficPolicy, f.TrafficDistribution = "Headless", "", "ClientIP", "Local", "PreferClose"
		f.Ports[0].AppProtocol = "http"
	})
	s := serviceObject(&input{key: key}, f)
	if s.Spec.ClusterIP != corev1.ClusterIPNone || s.Spec.Type != corev1.ServiceTypeClusterIP || *s.Spec.InternalTrafficPolicy != "Local" ||
		*s.Spec.TrafficDistribution != "PreferClose" || s.Spec.SessionAffinity != "ClientIP" || *s.Spec.Ports[0].AppProtocol != "http" {
		t.Errorf("got %+v", s.Spec)
	}
	f.Type, f.ClusterIp = "ClusterIP", "fd00::1"
	if s := serviceObject(&input{key: key}, f); !slices.Equal(s.Spec.IPFamilies, []corev1.IPFamily{corev1.IPv6Protocol}) {
		t.Errorf("families %v", s.Spec.IPFamilies)
	}
}

func TestARuleOfAnUnknownKindIsNoRule(t *testing.T) {
	if _, err := refOf(map[string]any{"kind": "EnvoyFilter", "metadata": map[string]any{"name": "x"}}); err == nil || !strings.Contains(err.Error(), "EnvoyFilter") {
		t.Errorf("got %v", err)
	}
}

func TestWhatChangesInAMemberWakesTheServicesItConcerns(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(1), nil}, &v1alpha1.GlobalService{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "old"}})
	old := types.NamespacedName{Namespace: "demo", Name: "old"}
	woken := func(changes ...stream.Change) []types.NamespacedName {
		var out []types.NamespacedName
		for _, r := range w.r.changed(t.Context(), changes) {
			out = append(out, r.NamespacedName)
		}
		slices.SortFunc(out, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
		return out
	}
	if d := cmp.Diff([]types.NamespacedName{key}, woken(stream.Change{Cluster: "c1", Service: key})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]types.NamespacedName{key, old}, woken(stream.Change{Cluster: "c1"})); d != "" {
		t.Errorf("what concerns the whole member wakes all:\n%s", d)
	}
}

func TestTheWritesAndProofsOfADrainAreInItsTrace(t *testing.T) {
	began := metav1.NewTime(time.Now().Add(-time.Minute).Truncate(time.Second))
	d := &v1alpha1.ClusterDrain{ObjectMeta: metav1.ObjectMeta{Name: "c2", UID: "u1"}, Spec: v1alpha1.ClusterDrainSpec{ClusterName: "c2"}}
	d.Status.Goal, d.Status.StartedAt = v1alpha1.GoalDrain, &began
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)}, d)
	spans := tracetest.NewInMemoryExporter()
	w.r.Tracer = tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans), sdktrace.WithIDGenerator(tracing.Generator{})))
	w.look()
	gs := w.look()
	gs.Status.Steps = []v1alpha1.StepRecord{{Kind: "Split", StartedAt: metav1.NewMicroTime(began.Time)}}
	if err := w.hub.Status().Update(t.Context(), gs); err != nil {
		t.Fatal(err)
	}
	spec := split(1, map[string]int32{"c1": 1000, "c2": 0}, "c2")
	spec.Record = &v1alpha1.ShiftRecord{Since: began}
	w.plan(spec)
	w.prove("c1", "c2")
	w.look()
	names := map[string]int{}
	for _, s := range spans.GetSpans() {
		names[s.Name]++
		if s.SpanContext.TraceID().String() != tracing.ID(d) {
			t.Errorf("span %s is of trace %s", s.Name, s.SpanContext.TraceID())
		}
	}
	for _, want := range []string{
		"write virtualservices demo/weir-echo", "write destinationrules demo/weir-echo", "write label istio.io/draining of pod echo-0", "proof weights", "proof fence",
	} {
		if names[want] == 0 {
			t.Errorf("no span %q among %v", want, names)
		}
	}
	w.look()
	told := 0
	for _, s := range spans.GetSpans() {
		if s.Name == "proof weights" {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the proof was told %d times", told)
	}
}
