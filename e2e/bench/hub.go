// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/weir-io/weir/api/v1alpha1"
)

// API is an API server to measure on, such as that of a fleet's hub.
type API interface {
	// REST returns a client configuration with the administrator's rights.
	REST() (*rest.Config, error)
	// Apply applies YAML documents and waits for new kinds to be served.
	Apply(ctx context.Context, manifests ...string) error
}

// controller is one of weir's.
type controller interface {
	SetupWithManager(m ctrl.Manager) error
}

// running is a hub in this process.
type running struct {
	manager  manager.Manager
	requests *requests
	// client is that of the measurement. Its requests are not counted, and it reads past the cache.
	client client.Client

	end   context.CancelFunc
	ended chan error
}

// start gives an API server weir's definitions and runs the controllers on it.
func start(ctx context.Context, hub API, repo string, known views) (*running, error) {
	if err := define(ctx, hub, repo); err != nil {
		return nil, err
	}
	ctrl.SetLogger(logr.Discard())
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	config, err := hub.REST()
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // As a hub has it: the API server's own fairness bounds it.
	h := &running{requests: &requests{}, ended: make(chan error, 1)}
	if h.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	counted, err := hub.REST()
	if err != nil {
		return nil, err
	}
	counted.QPS = -1
	counted.Wrap(h.requests.count)
	h.manager, err = ctrl.NewManager(counted, ctrl.Options{
		Scheme: scheme, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if err := h.setup(known); err != nil {
		return nil, err
	}
	life, end := context.WithCancel(ctx)
	h.end = end
	go func() { h.ended <- h.manager.Start(life) }()
	if !h.manager.GetCache().WaitForCacheSync(life) {
		return nil, fmt.Errorf("the hub did not start: %w", h.stop())
	}
	return h, nil
}

// newScheme knows Kubernetes' types and weir's.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	return scheme, nil
}

// stop ends the hub and returns its error.
func (h *running) stop() error {
	h.end()
	return <-h.ended
}

// define gives an API server weir's definitions.
func define(ctx context.Context, hub API, repo string) error {
	files, err := filepath.Glob(filepath.Join(repo, "config", "crd", "*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no definitions in %s", filepath.Join(repo, "config", "crd"))
	}
	texts := make([]string, 0, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		texts = append(texts, string(text))
	}
	return hub.Apply(ctx, texts...)
}

// requests counts requests by their method. It is safe for concurrent use.
type requests struct {
	mu sync.Mutex
	by map[string]int
}

// count counts what goes through a transport. Watches are opened once and are no requests of a binding's.
func (r *requests) count(next http.RoundTripper) http.RoundTripper {
	return transport(func(q *http.Request) (*http.Response, error) {
		if q.URL.Query().Get("watch") == "" {
			r.mu.Lock()
			if r.by == nil {
				r.by = map[string]int{}
			}
			r.by[q.Method]++
			r.mu.Unlock()
		}
		return next.RoundTrip(q)
	})
}

// take returns what was counted since the last call.
func (r *requests) take() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := maps.Clone(r.by)
	r.by = nil
	return out
}

// reset forgets what was counted.
func (r *requests) reset() { r.take() }

// transport is a function that does a request.
type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(q *http.Request) (*http.Response, error) { return t(q) }
