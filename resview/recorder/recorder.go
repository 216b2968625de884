// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/weir-io/weir/resview/stream"
	"github.com/weir-io/weir/resview/view"
)

// Config is what a Recorder needs. Kube is required.
type Config struct {
	// Kube reaches the member's API server, which is only read from.
	Kube kubernetes.Interface
	// Metrics receives the recorder's metrics. Nil: they are kept but not shown.
	Metrics prometheus.Registerer
	// Log receives what is left out, and why nodes or pods cannot be read. Nil: nothing is logged.
	Log *slog.Logger
}

// Recorder watches one member. All methods may be called from several goroutines; Run only once.
type Recorder struct {
	log     *slog.Logger
	metrics *metrics
	nodes   watched
	pods    watched
	changed chan struct{}

	mu     sync.Mutex
	keeper *keeper
}

var _ stream.NodeSource = (*Recorder)(nil)

// watched is an informer and the one who hears of all that it sees.
type watched struct {
	informer cache.SharedIndexInformer
	heard    cache.ResourceEventHandlerRegistration
}

// New returns a Recorder that reads nothing until Run.
func New(config Config) (*Recorder, error) {
	if config.Kube == nil {
		return nil, errors.New("recorder: Kube is required")
	}
	r := &Recorder{log: config.Log, metrics: newMetrics(), changed: make(chan struct{}, 1)}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.keeper = newKeeper(time.Now, r.log, r.metrics.recorded)
	if config.Metrics != nil {
		if err := r.metrics.register(config.Metrics); err != nil {
			return nil, fmt.Errorf("recorder: register metrics: %w", err)
		}
	}
	var err error
	if r.nodes, err = r.watch("nodes", coreinformers.NewNodeInformer(config.Kube, 0, cache.Indexers{}), trimNode, r.sawNode, r.lostNode); err != nil {
		return nil, err
	}
	// Pods without a node take nothing, and pods that are done give everything back: neither need be read.
	pods := coreinformers.NewFilteredPodInformer(config.Kube, metav1.NamespaceAll, 0, cache.Indexers{}, func(o *metav1.ListOptions) {
		o.FieldSelector = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
	})
	r.pods, err = r.watch("pods", pods, trimPod, r.sawPod, r.lostPod)
	return r, err
}

func (r *Recorder) watch(name string, informer cache.SharedIndexInformer, trim cache.TransformFunc, saw, lost func(any)) (watched, error) {
	w := watched{informer: informer}
	if err := informer.SetTransform(trim); err != nil {
		return w, fmt.Errorf("watch %s: %w", name, err)
	}
	last := ""
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		if text := err.Error(); text != last { // Called by one goroutine.
			last = text
			r.log.WarnContext(ctx, "cannot list or watch", "resource", name, "error", err)
		}
	})
	if err != nil {
		return w, fmt.Errorf("watch %s: %w", name, err)
	}
	w.heard, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: saw,
		UpdateFunc: func(was, now any) {
			if uidOf(was) != uidOf(now) { // Gone and made anew between two looks.
				lost(was)
			}
			saw(now)
		},
		DeleteFunc: func(gone any) {
			if unknown, ok := gone.(cache.DeletedFinalStateUnknown); ok {
				gone = unknown.Obj
			}
			lost(gone)
		},
	})
	if err != nil {
		return w, fmt.Errorf("watch %s: %w", name, err)
	}
	return w, nil
}

func uidOf(object any) string {
	if o, ok := object.(metav1.ObjectMetaAccessor); ok {
		return string(o.GetObjectMeta().GetUID())
	}
	return ""
}

// Run reads until ctx ends, and returns when all that it started has ended.
func (r *Recorder) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for _, w := range []watched{r.nodes, r.pods} {
		running.Go(func() { w.informer.RunWithContext(ctx) })
	}
	for _, w := range []watched{r.nodes, r.pods} {
		select {
		case <-w.heard.HasSyncedChecker().Done():
		case <-ctx.Done():
			return nil
		}
	}
	r.do(func(k *keeper) { k.begin() })
	r.metrics.synced.Set(1)
	<-ctx.Done()
	return nil
}

// do changes what is known, and tells whoever waits.
func (r *Recorder) do(change func(*keeper)) {
	r.mu.Lock()
	change(r.keeper)
	r.metrics.unacked.Set(float64(len(r.keeper.kept.events)))
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default: // It will look anyway.
	}
}

func (r *Recorder) sawNode(object any) {
	if n, ok := object.(*trimmedNode); ok {
		r.do(func(k *keeper) { k.setNode(n.node, n.cordoned) })
	}
}

func (r *Recorder) lostNode(object any) {
	if n, ok := object.(*trimmedNode); ok {
		r.do(func(k *keeper) { k.dropNode(n.Name, false) })
	}
}

func (r *Recorder) sawPod(object any) {
	p, ok := object.(*trimmedPod)
	switch {
	case !ok:
	case p.node == "" || p.done:
		r.lostPod(p)
	default:
		r.do(func(k *keeper) { k.setPod(string(p.UID), p.node, p.requests) })
	}
}

func (r *Recorder) lostPod(object any) {
	if p, ok := object.(*trimmedPod); ok {
		r.do(func(k *keeper) { k.dropPod(string(p.UID)) })
	}
}

// Changed implements stream.NodeSource.
func (r *Recorder) Changed() <-chan struct{} { return r.changed }

// Snapshot implements stream.NodeSource. Its incarnation is none: that is the wire's to say.
func (r *Recorder) Snapshot() *view.View {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keeper.book == nil {
		return nil
	}
	return r.keeper.book.View()
}

// After implements stream.NodeSource.
func (r *Recorder) After(version uint64, limit int) ([]stream.TimedEvent, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keeper.book == nil {
		return nil, true
	}
	return r.keeper.kept.after(version, limit)
}

// Acknowledged implements stream.NodeSource.
func (r *Recorder) Acknowledged(version uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.keeper.now()
	for _, e := range r.keeper.kept.cut(version) {
		r.metrics.acked.Observe(now.Sub(e.At).Seconds())
	}
	r.metrics.unacked.Set(float64(len(r.keeper.kept.events)))
}

// trimmedNode is what is kept of a node in memory.
type trimmedNode struct {
	metav1.ObjectMeta

	node     *view.Node
	cordoned bool
}

// trimmedPod is what is kept of a pod in memory.
type trimmedPod struct {
	metav1.ObjectMeta

	node     string
	requests view.Amounts
	done     bool
}

// identity is as much of an object's metadata as an informer needs.
func identity(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
}

func trimNode(object any) (any, error) {
	if n, ok := object.(*corev1.Node); ok {
		return &trimmedNode{ObjectMeta: identity(n.ObjectMeta), node: nodeOf(n), cordoned: n.Spec.Unschedulable}, nil
	}
	return object, nil
}

func trimPod(object any) (any, error) {
	if p, ok := object.(*corev1.Pod); ok {
		return &trimmedPod{
			ObjectMeta: identity(p.ObjectMeta), node: p.Spec.NodeName, requests: requestsOf(p),
			done: p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed,
		}, nil
	}
	return object, nil
}
