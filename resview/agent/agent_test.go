// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"

	"github.com/weir-io/weir/mesh/prover"
	"github.com/weir-io/weir/resview/inventory"
	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/recorder"
	"github.com/weir-io/weir/resview/stream"
)

// fakeInventory is a member that a test changes at will.
type fakeInventory struct {
	mu       sync.Mutex
	synced   bool
	services map[types.NamespacedName]*pb.ServiceFacts
	member   *pb.MemberFacts
	problems []inventory.Problem
	served   []string
	changed  chan struct{}
}

func newFakeInventory() *fakeInventory {
	return &fakeInventory{
		services: map[types.NamespacedName]*pb.ServiceFacts{}, member: &pb.MemberFacts{IstioClusterId: "c1", IstioVersion: "1.31.0"},
		changed: make(chan struct{}, 1),
	}
}

func (f *fakeInventory) Run(ctx context.Context) error { <-ctx.Done(); return nil }
func (f *fakeInventory) Changed() <-chan struct{}      { return f.changed }
func (f *fakeInventory) Synced() bool                  { f.mu.Lock(); defer f.mu.Unlock(); return f.synced }

func (f *fakeInventory) Facts() (map[types.NamespacedName]*pb.ServiceFacts, *pb.MemberFacts) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.services, f.member
}

func (f *fakeInventory) Served() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.served
}

func (f *fakeInventory) Problems() []inventory.Problem {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.problems
}

func (f *fakeInventory) Snapshot(context.Context) (prover.Snapshot, error) {
	return prover.Snapshot{}, nil
}

// change replaces what a test wants different, and tells of it.
func (f *fakeInventory) change(do func(*fakeInventory)) {
	f.mu.Lock()
	do(f)
	f.mu.Unlock()
	signal(f.changed)
}

// fakeProver says of each target that it is proven, at once and with new evidence each time it is asked.
type fakeProver struct {
	mu      sync.Mutex
	targets []prover.Target
	of      *pb.MemberFacts
	refuse  error
}

func (f *fakeProver) Run(ctx context.Context)  { <-ctx.Done() }
func (f *fakeProver) Changed() <-chan struct{} { return nil }

func (f *fakeProver) Watch(targets []prover.Target) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.targets = targets
	return f.refuse
}

func (f *fakeProver) Verdicts() []prover.Verdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []prover.Verdict
	for _, t := range f.targets {
		p := prover.Proof{Level: prover.LevelProven, Fresh: true}
		out = append(out, prover.Verdict{Target: t.Key(), At: time.Now(), FenceGeneration: t.FenceGeneration, Fence: p})
	}
	return out
}

// memoryTokens is a stream.TokenStore with one token.
type memoryTokens struct{ token stream.Token }

func (m memoryTokens) Token(_ context.Context, id string) (stream.Token, error) {
	if id != m.token.ID {
		return stream.Token{}, stream.ErrNoToken
	}
	return m.token, nil
}

func (memoryTokens) Burn(context.Context, string, [sha256.Size]byte) error { return nil }

type logger struct{ t *testing.T }

func (l logger) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// nodesOf watches a member with this node.
func nodesOf(t *testing.T, name string) Nodes {
	t.Helper()
	r, err := recorder.New(recorder.Config{Kube: fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func testConfig(t *testing.T, inv Inventory, p *fakeProver) Config {
	t.Helper()
	return Config{
		Inventory: inv, Nodes: nodesOf(t, "n1"), Events: events.NewFakeRecorder(10), Metrics: prometheus.NewPedanticRegistry(), Version: "test",
		KubernetesVersion: func(context.Context) string { return "v1.37.0" },
		Log:               slog.New(slog.NewTextHandler(logger{t}, nil)),
		NewProver: func(member *pb.MemberFacts) (Prover, error) {
			made := &fakeProver{of: member}
			if p != nil {
				p.mu.Lock()
				p.of = member
				p.mu.Unlock()
				return p, nil
			}
			return made, nil
		},
		Client: stream.ClientConfig{
			Hub: "127.0.0.1:1", Cluster: "c1", Vault: stream.Dir(t.TempDir()),
			HubCA: func() ([]byte, error) { return nil, errors.New("no hub") },
		},
	}
}

func newTestAgent(t *testing.T, inv Inventory, p *fakeProver) *Agent {
	t.Helper()
	a, err := New(testConfig(t, inv, p))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// fleet is a hub and the agent of its one member.
type fleet struct {
	*stream.Server
	agent *Agent
	t     *testing.T
	sub   *stream.Subscription
}

func startFleet(t *testing.T, inv *fakeInventory, p *fakeProver) *fleet {
	t.Helper()
	authority, err := stream.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	text, token, err := stream.NewToken("c1", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	server, err := stream.NewServer(stream.ServerConfig{Authority: authority, Tokens: memoryTokens{token}})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Admit("c1", stream.Settings{}); err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config := testConfig(t, inv, p)
	config.Client.Hub = listener.Addr().String()
	config.Client.HubCA = func() ([]byte, error) { return authority.Bundle(), nil }
	config.Client.Token = func() (string, error) { return text, nil }
	a, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := server.Serve(ctx, listener); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	running.Go(func() {
		if err := a.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	f := &fleet{Server: server, agent: a, t: t, sub: server.Subscribe()}
	t.Cleanup(func() { cancel(); running.Wait(); f.sub.Close() })
	return f
}

// until waits for the hub to see what a test waits for.
func (f *fleet) until(what string, seen func(*stream.Snapshot) bool) *stream.Snapshot {
	f.t.Helper()
	deadline := time.After(time.Minute)
	for {
		if s := f.Snapshot("c1"); seen(s) {
			return s
		}
		select {
		case <-f.sub.C():
			f.sub.Take()
		case <-deadline:
			f.t.Fatalf("after a minute the hub does not see %s: %+v", what, f.Snapshot("c1"))
		}
	}
}

func facts(name, version string) *pb.ServiceFacts {
	return &pb.ServiceFacts{Ref: &pb.ServiceRef{Namespace: "shop", Name: name}, Type: "ClusterIP", ResourceVersion: version}
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

func TestAgentTellsTheHubWhatItSees(t *testing.T) {
	inv := newFakeInventory()
	f := startFleet(t, inv, nil)
	if err := f.agent.Ready(); err == nil || !strings.Contains(err.Error(), "listed whole") {
		t.Errorf("before the member is listed the agent is ready: %v", err)
	}
	if s := f.Snapshot("c1"); s.Connected {
		t.Error("the agent connected before it knew anything")
	}
	inv.change(func(i *fakeInventory) {
		i.synced = true
		i.services = map[types.NamespacedName]*pb.ServiceFacts{named("cart"): facts("cart", "1"), named("pay"): facts("pay", "1")}
		i.served = []string{"apps/v1/Deployment", "v1/Pod"}
	})
	s := f.until("both services", func(s *stream.Snapshot) bool { return s.InventoryComplete && len(s.Services) == 2 })
	if s.Hello.GetKubernetesVersion() != "v1.37.0" || s.Hello.GetIstioClusterId() != "c1" {
		t.Errorf("hello is %v", s.Hello)
	}
	if v, _ := f.View("c1"); !slices.Equal(v.Serves, []string{"apps/v1/Deployment", "v1/Pod"}) {
		t.Errorf("the member serves %q", v.Serves)
	}
	inv.change(func(i *fakeInventory) {
		i.services = map[types.NamespacedName]*pb.ServiceFacts{named("cart"): facts("cart", "2")}
		i.problems = []inventory.Problem{{Namespace: "shop", Name: "odd", Reason: "BadAnnotation", Message: "says nothing"}}
	})
	f.until("one service, changed", func(s *stream.Snapshot) bool {
		return len(s.Services) == 1 && s.Services[named("cart")].Value.GetResourceVersion() == "2"
	})
	if err := errors.Join(f.agent.Ready(), f.agent.Healthy()); err != nil {
		t.Errorf("the agent is not ready and healthy: %v", err)
	}
	if got := <-f.agent.config.Events.(*events.FakeRecorder).Events; got != "Warning BadAnnotation says nothing" {
		t.Errorf("event is %q", got)
	}
}

func TestAgentTellsTheHubOfItsNodes(t *testing.T) {
	inv := newFakeInventory()
	inv.synced = true
	f := startFleet(t, inv, nil)
	views := f.SubscribeViews()
	defer views.Close()
	for deadline := time.After(time.Minute); ; {
		v, known := f.View("c1")
		if known && v.View != nil {
			for n := range v.View.All() {
				if n.Name != "n1" || !v.InStep {
					t.Errorf("in step %t, node %+v", v.InStep, n)
				}
			}
			return
		}
		select {
		case <-views.C():
			views.Take()
		case <-deadline:
			t.Fatalf("after a minute the hub has no view: %+v", v)
		}
	}
}

func TestProofReachesTheHubWhenItsQuestionHasSettled(t *testing.T) {
	inv := newFakeInventory()
	inv.synced = true
	f := startFleet(t, inv, &fakeProver{})
	for generation := range int64(3) {
		target := &pb.Target{Ref: &pb.ServiceRef{Namespace: "shop", Name: "cart"}, Hosts: []string{"cart"}, FenceGeneration: generation}
		if err := f.SetTargets("c1", []*pb.Target{target}); err != nil {
			t.Fatal(err)
		}
		var levels []string
		f.until("the proof", func(s *stream.Snapshot) bool {
			proof, ok := s.Answer(target)
			if !ok {
				return false
			}
			levels = append(levels, proof.Value.GetFence().GetLevel())
			if g := proof.Value.GetFence().GetGeneration(); g != generation {
				t.Errorf("the answer is of generation %d, want %d", g, generation)
			}
			return proof.Value.GetFence().GetLevel() == "Proven"
		})
		// A prover that calls everything proven at once is not believed at once.
		if levels[0] != "None" {
			t.Errorf("generation %d: levels were %q, want None first", generation, levels)
		}
	}
	if err := f.SetTargets("c1", nil); err != nil {
		t.Fatal(err)
	}
	f.until("no proof", func(s *stream.Snapshot) bool { return len(s.Proofs) == 0 })
}

func TestTargetsThatTheProverRefusesSettleNothing(t *testing.T) {
	inv := newFakeInventory()
	a := newTestAgent(t, inv, &fakeProver{refuse: errors.New("too many")})
	if err := a.place(t.Context(), inv.member); err != nil {
		t.Fatal(err)
	}
	defer a.prover.stop()
	a.watch(t.Context(), []*pb.Target{asked(3)}, nil)
	if len(a.questions.of) != 0 {
		t.Error("a question counts as put that the prover never took")
	}
}

func TestProverIsMadeAnewWhereTheMemberStandsElsewhere(t *testing.T) {
	inv := newFakeInventory()
	a := newTestAgent(t, inv, nil)
	defer func() { a.prover.stop() }()
	var seen []string
	for _, network := range []string{"", "", "n1", "n1"} {
		if err := a.place(t.Context(), &pb.MemberFacts{IstioClusterId: "c1", Network: network}); err != nil {
			t.Fatal(err)
		}
		if n := len(seen); n == 0 || seen[n-1] != network {
			a.questions.put([]*pb.Target{asked(1)}, epoch)
		}
		seen = append(seen, a.prover.Prover.(*fakeProver).of.GetNetwork())
	}
	if diff := cmp.Diff([]string{"", "", "n1", "n1"}, seen); diff != "" {
		t.Errorf("networks (-want +got):\n%s", diff)
	}
}

func TestNothingIsToldTwiceAtRest(t *testing.T) {
	inv := newFakeInventory()
	inv.services = map[types.NamespacedName]*pb.ServiceFacts{named("cart"): facts("cart", "1"), named("huge"): facts("huge", strings.Repeat("9", 300))}
	a := newTestAgent(t, inv, nil)
	if err := a.place(t.Context(), inv.member); err != nil {
		t.Fatal(err)
	}
	defer a.prover.stop()
	a.tell(t.Context(), inv.services, inv.member)
	if len(a.complaint) != 1 || !strings.Contains(a.complaint["service shop/huge"], "the hub would refuse it") {
		t.Errorf("complaints are %q, want one on the Service that breaks a bound", a.complaint)
	}
	before := a.told[named("cart")]
	a.tell(t.Context(), inv.services, inv.member)
	if a.told[named("cart")] != before {
		t.Error("cart was told again")
	}
	delete(inv.services, named("huge"))
	a.tell(t.Context(), inv.services, inv.member)
	if len(a.complaint) != 0 || len(a.told) != 1 {
		t.Errorf("after the Service went: complaints %q, %d told", a.complaint, len(a.told))
	}
}

func TestStuckAgentSaysSo(t *testing.T) {
	a := newTestAgent(t, newFakeInventory(), nil)
	if err := a.Healthy(); err != nil {
		t.Errorf("an agent that still starts is unhealthy: %v", err)
	}
	a.round.Store(time.Now().Add(-2 * stuckAfter).UnixNano())
	if err := a.Healthy(); err == nil {
		t.Error("an agent that has not come round for two minutes is healthy")
	}
}

func TestMetricsKeepToTheConventions(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	if err := newMetrics().register(registry); err != nil {
		t.Fatal(err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) != 0 {
		t.Errorf("problems: %v (%v)", problems, err)
	}
}
