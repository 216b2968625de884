// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/weir-io/weir/mesh/prover"
	"github.com/weir-io/weir/resview/inventory"
	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/stream"
)

const (
	// tellEvery is how often everything is looked at without an event.
	tellEvery = time.Second
	// stuckAfter is how long the agent may take to come round before it counts as stuck.
	stuckAfter = time.Minute
)

// Inventory is what an Agent needs of inventory.Inventory.
type Inventory interface {
	Run(ctx context.Context) error
	Changed() <-chan struct{}
	Synced() bool
	Facts() (map[types.NamespacedName]*pb.ServiceFacts, *pb.MemberFacts)
	Served() []string
	Problems() []inventory.Problem
	prover.Cluster
}

// Nodes is what an Agent needs of recorder.Recorder.
type Nodes interface {
	Run(ctx context.Context) error
	stream.NodeSource
}

// Prover is what an Agent needs of prover.Prover.
type Prover interface {
	Run(ctx context.Context)
	Watch(targets []prover.Target) error
	Verdicts() []prover.Verdict
	Changed() <-chan struct{}
}

// Config is what an Agent is made of. All of it must be set.
type Config struct {
	// Inventory reads the member.
	Inventory Inventory
	// Client says how to reach the hub. OnTargets, Hello, Nodes and Logger are the agent's to fill in.
	Client stream.ClientConfig
	// Nodes watches the member's nodes and the pods on them.
	Nodes Nodes
	// NewProver makes a prover for a member of this cluster ID, network and Istio version. It is called again when one of
	// them changes.
	NewProver func(*pb.MemberFacts) (Prover, error)
	// Events receives what owners of Services should know.
	Events events.EventRecorder
	// Version is the agent's own.
	Version string
	// KubernetesVersion asks the member's API server for its version; empty when it does not answer.
	KubernetesVersion func(context.Context) string
	// Metrics receives the agent's metrics.
	Metrics prometheus.Registerer
	// Log receives what could not be told.
	Log *slog.Logger
}

// Agent runs in a member until its context ends. Run may be called once; the other methods at any time.
type Agent struct {
	config  Config
	client  *stream.Client
	metrics *metrics
	wake    chan struct{}
	round   atomic.Int64 // when the agent last came round, in nanoseconds; 0: not yet

	mu     sync.Mutex
	asked  []*pb.Target
	member *pb.MemberFacts

	// The rest belongs to the goroutine of the loop.
	prover    *runningProver
	questions questions
	rates     rates
	reporter  reporter
	served    []string // what was last told of what the member serves
	told      map[types.NamespacedName]toldService
	proofs    map[prover.Key]toldProof
	complaint map[string]string // what was logged last, by what it was about
}

// New makes an agent that has not dialed yet.
func New(config Config) (*Agent, error) {
	a := &Agent{
		config:    config,
		metrics:   newMetrics(),
		wake:      make(chan struct{}, 1),
		reporter:  reporter{recorder: config.Events},
		told:      map[types.NamespacedName]toldService{},
		proofs:    map[prover.Key]toldProof{},
		complaint: map[string]string{},
	}
	cc := config.Client
	cc.OnTargets, cc.Hello, cc.Logger, cc.Metrics, cc.Nodes = a.onTargets, a.hello, config.Log, config.Metrics, config.Nodes
	client, err := stream.NewClient(cc)
	if err != nil {
		return nil, err
	}
	a.client = client
	if err := a.metrics.register(config.Metrics); err != nil {
		return nil, fmt.Errorf("agent: register metrics: %w", err)
	}
	return a, nil
}

// Ready says whether the agent's caches are filled and the hub is connected; the error says what is missing.
func (a *Agent) Ready() error {
	if !a.config.Inventory.Synced() {
		return errors.New("the member has not been listed whole yet; the log says what is missing")
	}
	if s := a.client.Status(); !s.Connected {
		return fmt.Errorf("the hub is not connected: %s", s.Reason)
	}
	return nil
}

// Healthy says whether the agent still comes round. A hub that is away makes no agent unhealthy: to start it anew would
// not bring the hub back.
func (a *Agent) Healthy() error {
	last := a.round.Load()
	if since := time.Since(time.Unix(0, last)); last != 0 && since > stuckAfter {
		return fmt.Errorf("stuck: the agent has not come round for %s", since.Truncate(time.Second))
	}
	return nil
}

func (a *Agent) onTargets(targets []*pb.Target) {
	a.mu.Lock()
	a.asked = targets
	a.mu.Unlock()
	signal(a.wake)
}

func (a *Agent) hello(ctx context.Context) *pb.Hello {
	hello := &pb.Hello{AgentVersion: a.config.Version, KubernetesVersion: a.config.KubernetesVersion(ctx)}
	a.mu.Lock()
	defer a.mu.Unlock()
	hello.IstioClusterId, hello.Network = a.member.GetIstioClusterId(), a.member.GetNetwork()
	return hello
}

// Run works until the context ends. It connects only after the inventory has been read whole once. Nodes are told when
// they are known, and hold up nothing else: a member in which they may not be read still has its traffic steered.
func (a *Agent) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.config.Inventory.Run(ctx) })
	group.Go(func() error { return a.config.Nodes.Run(ctx) })
	group.Go(func() error {
		if !a.waitSynced(ctx) {
			return nil
		}
		a.metrics.synced.Set(1)
		_, member := a.config.Inventory.Facts()
		a.mu.Lock()
		a.member = member
		a.mu.Unlock()
		group.Go(func() error { return a.client.Run(ctx) })
		return a.loop(ctx)
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (a *Agent) waitSynced(ctx context.Context) bool {
	tick := time.NewTicker(tellEvery / 10)
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
func (a *Agent) loop(ctx context.Context) error {
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	defer func() { a.prover.stop() }()
	for {
		a.round.Store(time.Now().UnixNano())
		services, member := a.config.Inventory.Facts()
		if err := a.place(ctx, member); err != nil {
			return err
		}
		a.tell(ctx, services, member)
		select {
		case <-ctx.Done():
			return nil
		case <-a.wake:
		case <-a.config.Inventory.Changed():
		case <-a.prover.Changed():
		case <-tick.C:
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // A wake-up is waiting already.
	}
}
