// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/stream"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func clusterOf(t *testing.T) *v1alpha1.Cluster {
	t.Helper()
	return &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c2", Generation: 7}, Spec: v1alpha1.ClusterSpec{
		APIEndpoint: "https://c2", CABundle: fleettest.NewAPIServer(t).CA, CredentialsSecretRef: &v1alpha1.SecretReference{Name: "weir-member-c2"},
	}}
}

func heard(silence time.Duration) *stream.Snapshot {
	return &stream.Snapshot{
		Cluster: "c2", Connected: true, Since: now.Add(-time.Hour), LastBeat: now.Add(-silence), APIServerHealthy: true,
		Hello: &pb.Hello{AgentVersion: "v1", KubernetesVersion: "v1.34.1"},
		Member: stream.Fact[*pb.MemberFacts]{Value: &pb.MemberFacts{
			Istiods: []*pb.Istiod{{Name: "istiod-1"}}, IstioVersion: "1.31.0", IstioClusterId: "c2", Network: "n2", ConnectedProxies: 5,
		}},
	}
}

func TestAClusterIsJudgedByAllThatIsKnownOfIt(t *testing.T) {
	cases := map[string]struct {
		change  func(*input)
		ready   string // status and reason
		healthy string
		says    string // in the message of Ready
	}{
		"all is well":       {func(*input) {}, "True Joined", "True Beating", ""},
		"one beat is late":  {func(in *input) { in.snapshot.LastBeat = now.Add(-25 * time.Second) }, "True Joined", "True Beating", ""},
		"beats are missing": {func(in *input) { in.snapshot.LastBeat = now.Add(-45 * time.Second) }, "True Joined", "False Suspect", ""},
		"long silent":       {func(in *input) { in.snapshot.LastBeat = now.Add(-2 * time.Minute) }, "Unknown AgentSilent", "Unknown ContactLost", "is not off"},
		"never heard":       {func(in *input) { in.snapshot = &stream.Snapshot{Cluster: "c2"} }, "Unknown AgentSilent", "Unknown NeverHeard", "look at the agent"},
		"beats more rarely": {func(in *input) {
			in.cluster.Spec.HeartbeatInterval = &metav1.Duration{Duration: time.Minute}
			in.snapshot.LastBeat = now.Add(-2 * time.Minute)
		}, "True Joined", "True Beating", ""},
		"heard once, not now": {func(in *input) { in.cluster.Status.Agent = &v1alpha1.AgentStatus{}; in.snapshot = &stream.Snapshot{} }, "Unknown AgentSilent", "Unknown ContactLost", "not heard"},
		"no credentials":      {func(in *input) { in.door = fmt.Errorf(`cluster "c2": %w: set it`, member.ErrNoCredentials) }, "False NoCredentials", "True Beating", "set it"},
		"API server silent":   {func(in *input) { in.door = fmt.Errorf("x: %w", member.ErrNotConnected) }, "False APIServerSilent", "True Beating", "does not answer the hub"},
		"its own says so too": {func(in *input) { in.snapshot.APIServerHealthy = false }, "False APIServerUnhealthy", "True Beating", ""},
		"another Istio name":  {func(in *input) { in.snapshot.Member.Value.IstioClusterId = "west" }, "False IstioClusterIDDiffers", "True Beating", `set spec.istioClusterID to "west"`},
		"its name is set": {func(in *input) {
			in.cluster.Spec.IstioClusterID = "west"
			in.snapshot.Member.Value.IstioClusterId = "west"
		}, "True Joined", "True Beating", ""},
		"no CA":               {func(in *input) { in.cluster.Spec.CABundle = nil }, "False BadCABundle", "True Beating", "spec.caBundle"},
		"a wish beyond us":    {func(in *input) { in.cluster.Spec.SyncMode = v1alpha1.SyncPull; in.snapshot = nil }, "False NotSupported", "Unknown NeverHeard", "spec.syncMode: Pull"},
		"wish before CA":      {func(in *input) { in.cluster.Spec.SyncMode = v1alpha1.SyncPull; in.cluster.Spec.CABundle = nil }, "False NotSupported", "True Beating", "nothing is written"},
		"silent, and no door": {func(in *input) { in.snapshot.LastBeat = now.Add(-2 * time.Minute); in.door = errors.New("x") }, "Unknown ContactLost", "Unknown ContactLost", "it is off, or cut off"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in := input{cluster: clusterOf(t), snapshot: heard(5 * time.Second), now: now}
			c.change(&in)
			got := statusOf(in)
			if got.ObservedGeneration != 7 {
				t.Errorf("observed %d", got.ObservedGeneration)
			}
			for kind, want := range map[string]string{v1alpha1.ConditionReady: c.ready, v1alpha1.ConditionHealthy: c.healthy} {
				cond := meta.FindStatusCondition(got.Conditions, kind)
				if cond == nil || string(cond.Status)+" "+cond.Reason != want || cond.ObservedGeneration != 7 {
					t.Errorf("%s: got %+v, want %s", kind, cond, want)
				}
			}
			if m := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionReady).Message; !strings.Contains(m, c.says) {
				t.Errorf("%q does not say %q", m, c.says)
			}
		})
	}
}

func TestWhatAMemberSaidStandsAfterContactIsLost(t *testing.T) {
	in := input{cluster: clusterOf(t), snapshot: heard(time.Second), now: now}
	in.cluster.Status = statusOf(in)
	in.snapshot = &stream.Snapshot{Cluster: "c2"} // the hub started again, and the member is off
	got := statusOf(in)
	if got.Istio == nil || got.Istio.Version != "1.31.0" || got.Agent == nil || got.KubernetesVersion != "v1.34.1" {
		t.Errorf("got %+v", got)
	}
}

func TestTheWaysOtherNetworksReachAMemberAreKeptWhenItIsOff(t *testing.T) {
	in := input{cluster: clusterOf(t), snapshot: heard(time.Second), now: now}
	in.snapshot.Member.Value.Gateways = []*pb.GatewayFacts{
		{Name: "istio-system/ew-b", EastWest: true, Addresses: []string{"172.16.0.3", "172.16.0.2", "172.16.0.2"}},
		{Name: "istio-system/ew-a", EastWest: true},
		{Name: "istio-ingress/in", Addresses: []string{"172.16.0.9"}},
	}
	in.cluster.Status = statusOf(in)
	want := []v1alpha1.EastWestGateway{{Name: "istio-system/ew-a"}, {Name: "istio-system/ew-b", Addresses: []string{"172.16.0.2", "172.16.0.3"}}}
	if d := cmp.Diff(want, in.cluster.Status.Istio.Gateways, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	in.snapshot = &stream.Snapshot{Cluster: "c2"} // the hub started again, and the member is off
	if d := cmp.Diff(want, statusOf(in).Istio.Gateways, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

func TestAMemberWithoutIstioSaysSo(t *testing.T) {
	in := input{cluster: clusterOf(t), snapshot: heard(time.Second), now: now}
	in.cluster.Status = statusOf(in)
	in.snapshot.Member.Value.Istiods = nil
	if got := statusOf(in); got.Istio != nil {
		t.Errorf("got %+v", got.Istio)
	}
}

func TestNotEveryBeatIsWorthAWrite(t *testing.T) {
	in := input{cluster: clusterOf(t), snapshot: heard(0), now: now}
	in.cluster.Status = statusOf(in)
	first := in.cluster.Status.Agent.LastBeat.Time
	steps := []struct {
		name    string
		later   time.Duration
		silence time.Duration
		written bool
	}{
		{"ten seconds later", 10 * time.Second, 0, false},
		{"a minute later", 59 * time.Second, 0, false},
		{"more than a minute later", 61 * time.Second, 0, true},
		{"beats are missing", 50 * time.Second, 40 * time.Second, true},
	}
	for _, s := range steps {
		in.now = now.Add(s.later)
		in.snapshot.LastBeat = in.now.Add(-s.silence)
		if got := !statusOf(in).Agent.LastBeat.Time.Equal(first); got != s.written {
			t.Errorf("%s: written %t", s.name, got)
		}
	}
}

func TestAMemberShowsAtMostTwentyNamesAndTheWholeNumber(t *testing.T) {
	in := input{cluster: clusterOf(t), snapshot: heard(time.Second), now: now}
	m := in.snapshot.Member.Value
	m.Istiods = nil
	for i := range 30 {
		m.Istiods = append(m.Istiods, &pb.Istiod{Name: fmt.Sprintf("istiod-%d", i)})
		m.MissingProxies = append(m.MissingProxies, fmt.Sprintf("demo/pod-%d: starting", i))
	}
	m.MissingCount = 345 // the message names only some of them
	got := statusOf(in).Istio
	if len(got.Istiods) != 20 || len(got.MissingProxies) != 20 || got.MissingProxyCount != 345 {
		t.Errorf("%d istiods, %d of %d proxies", len(got.Istiods), len(got.MissingProxies), got.MissingProxyCount)
	}
}

func TestWhatThePreflightFoundIsShown(t *testing.T) {
	in := input{cluster: clusterOf(t), snapshot: heard(time.Second), now: now}
	for i := range 60 {
		in.snapshot.Member.Value.Findings = append(in.snapshot.Member.Value.Findings, &pb.Finding{
			Check: "T1", Severity: "Error", Subject: fmt.Sprintf("demo/%d", i), Message: "a rule", Remedy: "remove it",
		})
	}
	got := statusOf(in).Findings
	want := v1alpha1.ClusterFinding{Check: "T1", Severity: "Error", Subject: "demo/0", Message: "a rule", Remedy: "remove it"}
	if len(got) != 50 || got[0] != want {
		t.Errorf("got %d, the first %+v", len(got), got)
	}
	in.cluster.Status = statusOf(in)
	in.snapshot.Member.Value.Findings = nil
	if got := statusOf(in).Findings; len(got) != 0 {
		t.Errorf("after they were mended: %+v", got)
	}
}

func TestWhereAMemberIsEnteredIsKeptWhileNoGatewayIsSeen(t *testing.T) {
	in := input{cluster: clusterOf(t), snapshot: heard(time.Second), now: now}
	steps := []struct {
		name     string
		gateways []*pb.GatewayFacts
		want     []string
	}{
		{"two pods of one Service, and one between networks", []*pb.GatewayFacts{
			{Name: "istio-ingress/a", Addresses: []string{"192.0.2.2", "192.0.2.1"}},
			{Name: "istio-ingress/b", Addresses: []string{"192.0.2.1"}},
			{Name: "istio-system/ew", EastWest: true, Addresses: []string{"192.0.2.9"}},
		}, []string{"192.0.2.1", "192.0.2.2"}},
		{"all of them restart", []*pb.GatewayFacts{{Name: "istio-system/ew", EastWest: true, Addresses: []string{"192.0.2.9"}}}, []string{"192.0.2.1", "192.0.2.2"}},
		{"another address", []*pb.GatewayFacts{{Name: "istio-ingress/c", Addresses: []string{"lb.example.com"}}}, []string{"lb.example.com"}},
	}
	for _, s := range steps {
		in.snapshot.Member.Value.Gateways = s.gateways
		in.cluster.Status = statusOf(in)
		if got := in.cluster.Status.IngressAddresses; !slices.Equal(got, s.want) {
			t.Errorf("%s: got %v, want %v", s.name, got, s.want)
		}
	}
	in.snapshot.Member.Value.Istiods = nil
	if got := statusOf(in).IngressAddresses; len(got) == 0 {
		t.Error("it is forgotten with the istiod")
	}
	var many []*pb.GatewayFacts
	for i := range 40 {
		many = append(many, &pb.GatewayFacts{Name: fmt.Sprintf("a/%d", i), Addresses: []string{fmt.Sprintf("192.0.2.%d", i)}})
	}
	in.snapshot.Member.Value.Gateways = many
	if got := statusOf(in).IngressAddresses; len(got) != 20 {
		t.Errorf("%d addresses", len(got))
	}
}
