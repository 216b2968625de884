// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/weir-io/weir/mesh/prover"
	"github.com/weir-io/weir/resview/pb"
)

// Config is what an Inventory needs. REST and IstioNamespace are required.
type Config struct {
	// REST reaches the member's API server, which is only read from.
	REST *rest.Config
	// IstioNamespace is where istiod runs.
	IstioNamespace string
	// RootNamespace is the mesh's root of configuration where the mesh's own settings do not name one or cannot be read.
	// Empty: IstioNamespace.
	RootNamespace string
	// Log receives what comes and goes. Nil: nothing is logged.
	Log *slog.Logger
}

// clients are the ways to ask the member.
type clients struct {
	kube kubernetes.Interface
	open open
	// version returns what the istiod whose debug port is at address, host:port, says that its version is.
	version func(ctx context.Context, address string) (string, error)
	// answers returns nil if the API server answers and is ready.
	answers func(ctx context.Context) error
}

// Inventory reads one member. All methods may be called from several goroutines; Run only once.
type Inventory struct {
	config Config
	reader reader
	custom *custom
	// answers returns nil if the API server answers and is ready.
	answers func(context.Context) error

	services, pods, namespaces                         *source
	replicaSets, deployments, statefulSets, daemonSets *source
	budgets                                            *source

	dirty   chan struct{} // something changed
	changed chan struct{} // and it was told
	ask     chan struct{} // an istiod came, changed or went
	serves  served

	mu       sync.Mutex
	settings settings
	settled  bool          // settings were read once
	served   []string      // what the API server serves; nil: not known
	answered time.Time     // when the API server last answered
	cost     time.Duration // of the last picture
	revision uint64        // of everything
	rules    uint64        // of the rules alone

	building sync.Mutex // held while a picture is made, so that it is made once
	last     *picture
	book     *ruleBook
	bookOf   uint64 // the revision of the rules in book
}

var _ prover.Cluster = (*Inventory)(nil)

// New returns an Inventory that reads nothing until Run.
func New(config Config) (*Inventory, error) {
	if config.REST == nil || config.IstioNamespace == "" {
		return nil, errors.New("inventory: REST and IstioNamespace are required")
	}
	c, err := newClients(config.REST)
	if err != nil {
		return nil, err
	}
	return newInventory(config, c)
}

func newInventory(config Config, c clients) (*Inventory, error) {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	n := &Inventory{
		config:  config,
		reader:  reader{kube: c.kube, namespace: config.IstioNamespace, version: c.version},
		answers: c.answers,
		dirty:   make(chan struct{}, 1),
		changed: make(chan struct{}, 1),
		ask:     make(chan struct{}, 1),
	}
	n.custom = &custom{
		discovery: c.kube.Discovery(), open: c.open, log: config.Log, live: map[string]*watched{},
		changed: func() { n.touch(true) },
	}
	return n, n.watch(informers.NewSharedInformerFactory(c.kube, 0))
}

// watch prepares the informers of kinds that every API server has.
func (n *Inventory) watch(f informers.SharedInformerFactory) error {
	core, apps := f.Core().V1(), f.Apps().V1()
	var failed error
	open := func(name string, informer cache.SharedIndexInformer) *source {
		s, err := newSource(name, informer, n.config.Log, n.seen)
		failed = errors.Join(failed, err)
		return s
	}
	n.services = open("services", core.Services().Informer())
	n.pods = open("pods", core.Pods().Informer())
	n.namespaces = open("namespaces", core.Namespaces().Informer())
	n.replicaSets = open("replicasets.apps", apps.ReplicaSets().Informer())
	n.deployments = open("deployments.apps", apps.Deployments().Informer())
	n.statefulSets = open("statefulsets.apps", apps.StatefulSets().Informer())
	n.daemonSets = open("daemonsets.apps", apps.DaemonSets().Informer())
	n.budgets = open("poddisruptionbudgets.policy", f.Policy().V1().PodDisruptionBudgets().Informer())
	return failed
}

func (n *Inventory) sources() []*source {
	return []*source{n.services, n.pods, n.namespaces, n.replicaSets, n.deployments, n.statefulSets, n.daemonSets, n.budgets}
}

// seen is told of each object of the core kinds that comes, changes or goes.
func (n *Inventory) seen(object any) {
	if p, ok := object.(*corev1.Pod); ok && p.Namespace == n.config.IstioNamespace && p.Labels["app"] == "istiod" {
		poke(n.ask)
	}
	n.touch(false)
}

func (n *Inventory) touch(rules bool) {
	n.mu.Lock()
	n.revision++
	if rules {
		n.rules++
	}
	n.mu.Unlock()
	poke(n.dirty)
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Changed receives when facts or the snapshot may have changed, a moment after the first of several changes.
func (n *Inventory) Changed() <-chan struct{} { return n.changed }

// Synced says whether the member is known in full: each kind that it serves has been listed.
func (n *Inventory) Synced() bool { return n.waiting() == nil }

// waiting names what is not known yet; nil for nothing.
func (n *Inventory) waiting() []string {
	var out []string
	for _, s := range n.sources() {
		out = s.appendWaiting(out)
	}
	out = append(out, n.custom.waiting()...)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.settled && len(out) == 0 {
		out = append(out, "what the API server serves")
	}
	return out
}

// Facts returns what is known of each global Service, and of the member. Both are nil until the member was known in full
// once. While a kind that came lately is being listed they stay as they were when they were last asked for. They must not
// be changed.
func (n *Inventory) Facts() (map[types.NamespacedName]*pb.ServiceFacts, *pb.MemberFacts) {
	p, _ := n.picture()
	if p == nil {
		return nil, nil
	}
	return p.services, p.member
}

// Served returns the kinds that the member's API server serves, each as GROUP/VERSION/KIND, or VERSION/KIND of the core
// group, sorted. None: not known. It must not be changed.
func (n *Inventory) Served() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.served
}

// Problems returns what owners of Services should know, in a stable order. It must not be changed.
func (n *Inventory) Problems() []Problem {
	p, _ := n.picture()
	if p == nil {
		return nil
	}
	return p.problems
}

// Snapshot returns the member as the prover needs it. It fails while the member is not
// known in full, or its API server is silent.
func (n *Inventory) Snapshot(context.Context) (prover.Snapshot, error) {
	p, waiting := n.picture()
	n.mu.Lock()
	silence := time.Since(n.answered)
	n.mu.Unlock()
	if p != nil && silence > maxSilence {
		return prover.Snapshot{}, fmt.Errorf("the member's API server has not answered for %s, so what changed there is not known", maxSilence)
	}
	if p == nil || len(waiting) > 0 {
		return prover.Snapshot{}, fmt.Errorf("member not known in full yet; not listed: %s", strings.Join(waiting, ", "))
	}
	return p.snapshot, nil
}
