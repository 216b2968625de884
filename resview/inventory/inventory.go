// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/weir-io/weir/mesh/prover"
	"github.com/weir-io/weir/resview/pb"
)

const (
	// settle is how long changes are gathered before they are told.
	settle = 100 * time.Millisecond
	// refreshInterval is how often that is asked for which no informer tells, and retryInterval how soon after a failure.
	refreshInterval = 30 * time.Second
	retryInterval   = 2 * time.Second
	// restInterval lies between two refreshes, however often istiods change.
	restInterval = time.Second
	// listenInterval is how often, and for how long, the API server is asked whether it is there. After silence of
	// maxSilence nothing is shown to the prover.
	listenInterval = 3 * time.Second
	maxSilence     = 10 * time.Second
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

	dirty   chan struct{} // something changed
	changed chan struct{} // and it was told
	ask     chan struct{} // an istiod came, changed or went

	mu       sync.Mutex
	settings settings
	settled  bool      // settings were read once
	answered time.Time // when the API server last answered
	revision uint64    // of everything
	rules    uint64    // of the rules alone

	building sync.Mutex // held while a picture is made, so that it is made once
	last     *picture
	book     *ruleBook
	bookOf   uint64 // the revision of the rules in book
}

// picture is what was made from the member at one revision. It does not change.
type picture struct {
	revision uint64
	services map[types.NamespacedName]*pb.ServiceFacts
	member   *pb.MemberFacts
	problems []Problem
	snapshot prover.Snapshot
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
	open := func(name string, of interface {
		Informer() cache.SharedIndexInformer
	}) *source {
		s, err := newSource(name, of.Informer(), n.config.Log, n.seen)
		failed = errors.Join(failed, err)
		return s
	}
	n.services = open("services", core.Services())
	n.pods = open("pods", core.Pods())
	n.namespaces = open("namespaces", core.Namespaces())
	n.replicaSets = open("replicasets.apps", apps.ReplicaSets())
	n.deployments = open("deployments.apps", apps.Deployments())
	n.statefulSets = open("statefulsets.apps", apps.StatefulSets())
	n.daemonSets = open("daemonsets.apps", apps.DaemonSets())
	return failed
}

func (n *Inventory) sources() []*source {
	return []*source{n.services, n.pods, n.namespaces, n.replicaSets, n.deployments, n.statefulSets, n.daemonSets}
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

// Run reads until ctx ends, and returns when all that it started has ended.
func (n *Inventory) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, s := range n.sources() {
		running.Go(func() { s.informer.RunWithContext(ctx) })
	}
	running.Go(func() { n.refreshAll(ctx) })
	running.Go(func() { n.listen(ctx) })
	n.tell(ctx)
	running.Wait()
	n.custom.running.Wait()
	return nil
}

// tell hands on changes, gathered.
func (n *Inventory) tell(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.dirty:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(settle):
		}
		select {
		case <-n.dirty: // What came meanwhile is told with the rest.
		default:
		}
		poke(n.changed)
	}
}

// listen asks the API server again and again whether it is there. While it is not, nothing is told of what changes, and
// what was read grows old unseen.
func (n *Inventory) listen(ctx context.Context) {
	for {
		asking, cancel := context.WithTimeout(ctx, listenInterval)
		err := n.answers(asking)
		cancel()
		if err == nil {
			n.mu.Lock()
			n.answered = time.Now()
			n.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(listenInterval):
		}
	}
}

// refreshAll asks, at once and then now and again, for what no informer tells.
func (n *Inventory) refreshAll(ctx context.Context) {
	for {
		wait := refreshInterval
		if err := n.refresh(ctx); err != nil {
			if ctx.Err() != nil {
				return
			}
			n.config.Log.WarnContext(ctx, "cannot look what the member serves", "error", err)
			wait = retryInterval
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(restInterval):
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait - restInterval):
		case <-n.ask:
		}
	}
}

func (n *Inventory) refresh(ctx context.Context) error {
	if err := n.custom.refresh(ctx); err != nil {
		return err
	}
	if !n.pods.await(ctx) {
		return ctx.Err()
	}
	n.mu.Lock()
	last := n.settings
	n.mu.Unlock()
	x := newIndex(objects{pods: listOf[*corev1.Pod](n.pods), istioNamespace: n.config.IstioNamespace})
	now, err := n.reader.read(ctx, last, x.istiods)
	if err != nil {
		return err
	}
	n.mu.Lock()
	news := !n.settled || !reflect.DeepEqual(last, now)
	n.settings, n.settled = now, true
	n.mu.Unlock()
	if news {
		n.touch(false)
	}
	return nil
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
// once; while a kind that is served only lately is being listed they stay as they were. They must not be changed.
func (n *Inventory) Facts() (map[types.NamespacedName]*pb.ServiceFacts, *pb.MemberFacts) {
	p, _ := n.picture()
	if p == nil {
		return nil, nil
	}
	return p.services, p.member
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
	if silence > maxSilence && len(waiting) == 0 {
		return prover.Snapshot{}, fmt.Errorf("the member's API server has not answered for %s, so what changed there is not known", maxSilence)
	}
	if len(waiting) > 0 {
		return prover.Snapshot{}, fmt.Errorf("member not known in full yet; not listed: %s", strings.Join(waiting, ", "))
	}
	return p.snapshot, nil
}

// picture returns the newest picture, making it if need be, and what keeps a newer one from being made.
func (n *Inventory) picture() (p *picture, waiting []string) {
	n.building.Lock()
	defer n.building.Unlock()
	if waiting := n.waiting(); len(waiting) > 0 {
		return n.last, waiting
	}
	n.mu.Lock()
	revision, rules := n.revision, n.rules
	n.mu.Unlock()
	if n.last != nil && n.last.revision == revision {
		return n.last, nil
	}
	x := newIndex(n.gather())
	if n.book == nil || n.bookOf != rules || !n.book.fits(x) {
		n.book, n.bookOf = newRuleBook(x), rules
	}
	n.last = newPicture(x, n.book, revision)
	return n.last, nil
}

func newPicture(x *index, book *ruleBook, revision uint64) *picture {
	p := &picture{
		revision: revision,
		services: map[types.NamespacedName]*pb.ServiceFacts{},
		member:   x.member(book),
		problems: x.problems(),
		snapshot: x.snapshot(),
	}
	for _, s := range x.services {
		if isGlobal(s) {
			rules, _ := book.choose(s.Namespace, s.Name)
			p.services[types.NamespacedName{Namespace: s.Namespace, Name: s.Name}] = x.service(s, rules)
		}
	}
	book.forget(p.services)
	return p
}

func (n *Inventory) gather() objects {
	o := objects{
		services:       listOf[*corev1.Service](n.services),
		pods:           listOf[*corev1.Pod](n.pods),
		namespaces:     listOf[*corev1.Namespace](n.namespaces),
		replicaSets:    listOf[*appsv1.ReplicaSet](n.replicaSets),
		deployments:    listOf[*appsv1.Deployment](n.deployments),
		statefulSets:   listOf[*appsv1.StatefulSet](n.statefulSets),
		daemonSets:     listOf[*appsv1.DaemonSet](n.daemonSets),
		istioNamespace: n.config.IstioNamespace,
		rootNamespace:  n.config.RootNamespace,
	}
	n.custom.list(&o)
	slices.SortFunc(o.rules, byName)
	n.mu.Lock()
	o.settings = n.settings
	n.mu.Unlock()
	o.settings.exportVersion = n.custom.exportVersion()
	return o
}
