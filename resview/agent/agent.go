// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/mesh/prover"
	"github.com/weir-io/weir/resview/inventory"
	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/stream"
)

// tellEvery is how often verdicts and loads are told at the most, and looked at without an event.
const tellEvery = time.Second

// Config is what an Agent is made of. All of it must be set.
type Config struct {
	Inventory *inventory.Inventory
	// Client options are filled in by the caller, save OnTargets and Hello, which are the agent's.
	Client stream.ClientConfig
	// NewProver makes the prover once the inventory knows the member's network and cluster ID.
	NewProver func(*pb.MemberFacts) (*prover.Prover, error)
	// Version is the agent's own.
	Version string
	// KubernetesVersion is the member's API server's.
	KubernetesVersion string
	Log               *slog.Logger
}

// Agent runs in a member until its context ends.
type Agent struct {
	config Config
	client *stream.Client

	mu     sync.Mutex
	asked  []*pb.Target
	member *pb.MemberFacts
	wake   chan struct{}

	rates rates
	told  map[types.NamespacedName]bool
	// proofs are the verdicts told last, by target.
	proofs map[prover.Key]toldProof
}

// New makes an agent that has not dialed yet.
func New(config Config) (*Agent, error) {
	a := &Agent{config: config, wake: make(chan struct{}, 1), told: map[types.NamespacedName]bool{}, proofs: map[prover.Key]toldProof{}}
	cc := config.Client
	cc.OnTargets, cc.Hello, cc.Logger = a.onTargets, a.hello, config.Log
	client, err := stream.NewClient(cc)
	if err != nil {
		return nil, err
	}
	a.client = client
	return a, nil
}

// Ready says whether the agent's caches are filled and the hub is connected; the error says what is missing.
func (a *Agent) Ready() error {
	if !a.config.Inventory.Synced() {
		return errors.New("caches are not filled yet")
	}
	if s := a.client.Status(); !s.Connected {
		return fmt.Errorf("the hub is not connected: %s", s.Reason)
	}
	return nil
}

func (a *Agent) onTargets(targets []*pb.Target) {
	a.mu.Lock()
	a.asked = targets
	a.mu.Unlock()
	signal(a.wake)
}

func (a *Agent) hello() *pb.Hello {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &pb.Hello{
		AgentVersion: a.config.Version, KubernetesVersion: a.config.KubernetesVersion,
		IstioClusterId: a.member.GetIstioClusterId(), Network: a.member.GetNetwork(),
	}
}

// Run works until the context ends. It connects only after the inventory has been read whole once.
func (a *Agent) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.config.Inventory.Run(ctx) })
	group.Go(func() error {
		if !a.waitSynced(ctx) {
			return nil
		}
		_, member := a.config.Inventory.Facts()
		a.mu.Lock()
		a.member = member
		a.mu.Unlock()
		p, err := a.config.NewProver(member)
		if err != nil {
			return fmt.Errorf("make the prover: %w", err)
		}
		group.Go(func() error { p.Run(ctx); return nil })
		group.Go(func() error { return a.client.Run(ctx) })
		a.loop(ctx, p)
		return nil
	})
	err := group.Wait()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (a *Agent) waitSynced(ctx context.Context) bool {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !a.config.Inventory.Synced() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// loop tells the hub what changed, whenever something did.
func (a *Agent) loop(ctx context.Context, p *prover.Prover) {
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for {
		a.tell(ctx, p)
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		case <-a.config.Inventory.Changed():
		case <-p.Changed():
		case <-tick.C:
		}
	}
}

// tell hands the hub's questions to the prover, and everything known to the client, which sends what changed.
func (a *Agent) tell(ctx context.Context, p *prover.Prover) {
	services, member := a.config.Inventory.Facts()
	a.mu.Lock()
	asked := a.asked
	a.member = member
	a.mu.Unlock()
	a.watch(ctx, p, asked, services)

	verdicts := map[prover.Key]prover.Verdict{}
	for _, v := range p.Verdicts() {
		verdicts[v.Target] = v
	}
	now := time.Now()
	loads := a.rates.loads(verdicts, now)
	a.log("member", a.client.SetMember(withGatewayLoads(member, loads)))
	for key, facts := range services {
		a.log("service "+key.String(), a.client.SetService(withPodLoads(facts, loads)))
		a.told[key] = true
	}
	for key := range maps.Clone(a.told) {
		if services[key] == nil {
			a.client.RemoveService(key)
			delete(a.told, key)
		}
	}
	a.client.InventoryListed()
	for _, t := range asked {
		key := prover.Key{Namespace: t.GetRef().GetNamespace(), Name: t.GetRef().GetName()}
		if v, ok := verdicts[key]; ok {
			a.tellProof(key, v, t, now)
		}
	}
}

// tellProof tells a verdict that says something new, or that rests on newer evidence. Its age alone is not news.
func (a *Agent) tellProof(key prover.Key, v prover.Verdict, asked *pb.Target, now time.Time) {
	timeless := proofOf(v, asked, v.At)
	last, known := a.proofs[key]
	if known && last.at.Equal(v.At) && proto.Equal(last.facts, timeless) {
		return
	}
	a.proofs[key] = toldProof{v.At, timeless}
	a.log("proof "+key.String(), a.client.SetProof(proofOf(v, asked, now)))
}

type toldProof struct {
	at    time.Time
	facts *pb.ProofFacts
}

func (a *Agent) watch(ctx context.Context, p *prover.Prover, asked []*pb.Target, services map[types.NamespacedName]*pb.ServiceFacts) {
	selectors := map[prover.Key]map[string]string{}
	for key, s := range services {
		selectors[prover.Key{Namespace: key.Namespace, Name: key.Name}] = s.GetSelector()
	}
	targets := targetsOf(asked, selectors)
	active := false
	for _, t := range targets {
		active = active || t.Active
	}
	snapshot, err := a.config.Inventory.Snapshot(ctx)
	if err != nil {
		a.log("snapshot", err)
		return
	}
	targets = append(targets, gatewayTargets(snapshot.Pods, active)...)
	a.log("targets", p.Watch(targets))
}

func (a *Agent) log(what string, err error) {
	if err != nil {
		a.config.Log.Error("not told to the hub", "what", what, "err", err)
	}
}

func withGatewayLoads(member *pb.MemberFacts, loads map[podKey]*pb.Load) *pb.MemberFacts {
	out := proto.CloneOf(member)
	for _, g := range out.GetGateways() {
		g.Load = loads[podKey(g.GetName())]
	}
	return out
}

func withPodLoads(facts *pb.ServiceFacts, loads map[podKey]*pb.Load) *pb.ServiceFacts {
	out := proto.CloneOf(facts)
	for _, p := range out.GetPods() {
		p.Load = loads[podKey(out.GetRef().GetNamespace()+"/"+p.GetName())]
	}
	return out
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // a wake-up is waiting already
	}
}
