// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"context"
	"crypto/sha256"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/stream"
)

// Link is the hub's end of the wire, on loopback, and the agents on it.
type Link struct {
	// Server is the hub's end.
	Server *stream.Server
	// Nodes are what agents that join from now on tell of their member's nodes, by cluster; no entry: nothing.
	Nodes map[string]stream.NodeSource

	address   string
	authority *stream.Authority
	tokens    *tokens
	changes   *stream.Subscription
}

// NewLink starts the hub's end. It ends with the test.
func NewLink(t *testing.T) *Link {
	t.Helper()
	authority, err := stream.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{authority: authority, tokens: &tokens{all: map[string]stream.Token{}}}
	if l.Server, err = stream.NewServer(stream.ServerConfig{Authority: authority, Tokens: l.tokens, HubUID: "hub"}); err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.address = listener.Addr().String()
	l.changes = l.Server.Subscribe()
	run(t, func(ctx context.Context) error { return l.Server.Serve(ctx, listener) })
	t.Cleanup(l.changes.Close)
	return l
}

// run runs f until the test ends, or until what it returns is called.
func run(t *testing.T, f func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := f(ctx); err != nil {
			t.Errorf("%v", err)
		}
	})
	stop = func() {
		cancel()
		wg.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// Agent is one member's agent.
type Agent struct {
	*stream.Client

	// Stop ends it, as when its member loses its power. It may be called more than once.
	Stop func()

	mu      sync.Mutex
	targets []*pb.Target
}

// Targets is what the hub wants of the agent's prover now.
func (a *Agent) Targets() []*pb.Target {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.targets
}

func (a *Agent) want(targets []*pb.Target) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.targets = targets
}

// Prove answers each target: all that it asks for is proven.
func (a *Agent) Prove(t *testing.T) {
	t.Helper()
	for _, target := range a.Targets() {
		verdict := func(generation int64) *pb.Verdict {
			return &pb.Verdict{Level: "Proven", Generation: generation, Istiods: []*pb.IstiodVerdict{{Name: "istiod-1", Push: "7"}}}
		}
		err := a.SetProof(&pb.ProofFacts{
			Ref: target.GetRef(), Question: target.GetQuestion(),
			Rules: verdict(target.GetGeneration()), Weights: verdict(target.GetGeneration()), Fence: verdict(target.GetFenceGeneration()),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Join starts a member's agent with the services that stand there, and waits until the hub has heard it out.
func (l *Link) Join(t *testing.T, cluster string, member *pb.MemberFacts, services ...*pb.ServiceFacts) *Agent {
	t.Helper()
	a := l.start(t, cluster, member, func(a *Agent) {
		for _, s := range services {
			if err := a.SetService(s); err != nil {
				t.Fatal(err)
			}
		}
		a.InventoryListed()
	})
	l.Await(t, cluster+" is heard out", func() bool { return l.Server.Snapshot(cluster).InventoryComplete })
	return a
}

// Begin starts a member's agent, and waits until the hub has heard of it. Of services it has told nothing yet.
func (l *Link) Begin(t *testing.T, cluster string, member *pb.MemberFacts) *Agent {
	t.Helper()
	return l.start(t, cluster, member, func(*Agent) {})
}

// start starts an agent that tells what it is given to tell.
func (l *Link) start(t *testing.T, cluster string, member *pb.MemberFacts, tell func(*Agent)) *Agent {
	t.Helper()
	if l.Server.Snapshot(cluster) == nil {
		if err := l.Server.Admit(cluster, stream.Settings{}); err != nil {
			t.Fatal(err)
		}
	}
	text, record, err := stream.NewToken(cluster, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	l.tokens.add(record)
	a := &Agent{}
	a.Client, err = stream.NewClient(stream.ClientConfig{
		Hub: l.address, Cluster: cluster, Vault: stream.Dir(t.TempDir()), Nodes: l.Nodes[cluster],
		HubCA:     func() ([]byte, error) { return l.authority.Bundle(), nil },
		Token:     func() (string, error) { return text, nil },
		OnTargets: a.want,
		Hello: func(context.Context) *pb.Hello {
			return &pb.Hello{AgentVersion: "v1.2.3", KubernetesVersion: "v1.34.1"}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.SetMember(member); err != nil {
		t.Fatal(err)
	}
	tell(a)
	a.Stop = run(t, a.Run)
	l.Await(t, cluster+" is heard", func() bool {
		s := l.Server.Snapshot(cluster)
		return s.Connected && !s.LastBeat.IsZero() && s.Member.Value != nil
	})
	return a
}

// Leave stops an agent and waits until the hub has noticed.
func (l *Link) Leave(t *testing.T, cluster string, a *Agent) {
	t.Helper()
	a.Stop()
	l.Await(t, cluster+" is gone", func() bool { return !l.Server.Snapshot(cluster).Connected })
}

// Await waits until something holds of what the hub knows.
func (l *Link) Await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	again := time.NewTicker(50 * time.Millisecond) // a beat is no change.
	defer again.Stop()
	for !holds() {
		select {
		case <-l.changes.C():
			l.changes.Take()
		case <-again.C:
		case <-deadline:
			t.Fatalf("after half a minute it is not so that %s: %+v", what, l.Server.Snapshots())
		}
	}
}

// tokens is a store of join tokens that burn for anybody.
type tokens struct {
	mu  sync.Mutex
	all map[string]stream.Token
}

func (s *tokens) add(t stream.Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[t.ID] = t
}

func (s *tokens) Token(_ context.Context, id string) (stream.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.all[id]
	if !ok {
		return stream.Token{}, stream.ErrNoToken
	}
	return t, nil
}

func (*tokens) Burn(context.Context, string, [sha256.Size]byte) error { return nil }
