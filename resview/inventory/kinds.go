// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/cache"
)

// kind is one that a member may not serve, because what brings it is not installed, or not yet.
type kind struct {
	group, resource string
	// versions are those that can be read, the best first.
	versions []string
	// into is the list of objects that it fills.
	into func(*objects) *[]*unstructured.Unstructured
}

const exportResource = "serviceexports"

// optional are all kinds that may be missing. Objects are read as they are stored: weir reads fields that are the same in
// all of these versions.
var optional = func() []kind {
	rules := func(o *objects) *[]*unstructured.Unstructured { return &o.rules }
	exports := func(o *objects) *[]*unstructured.Unstructured { return &o.exports }
	gateways := func(o *objects) *[]*unstructured.Unstructured { return &o.gateways }
	istio, gateway := []string{"v1", "v1beta1", "v1alpha3"}, []string{"v1", "v1beta1"}
	return []kind{
		{"networking.istio.io", "virtualservices", istio, rules},
		{"networking.istio.io", "destinationrules", istio, rules},
		{"networking.istio.io", "sidecars", istio, rules},
		{"networking.istio.io", "gateways", istio, gateways},
		{"gateway.networking.k8s.io", "httproutes", gateway, rules},
		{"gateway.networking.k8s.io", "grpcroutes", gateway[:1], rules},
		{"multicluster.x-k8s.io", exportResource, []string{"v1alpha1", "v1beta1"}, exports},
	}
}()

// open returns a new informer that lists and watches one kind in all namespaces, and that has not been started.
type open func(schema.GroupVersionResource) cache.SharedIndexInformer

// custom keeps an informer for each optional kind that the member serves.
type custom struct {
	discovery discovery.DiscoveryInterface
	open      open
	log       *slog.Logger
	changed   func() // called on every change of an object or of what is served

	running sync.WaitGroup

	mu   sync.Mutex
	live map[string]*watched // by resource
}

// watched is one kind that is served.
type watched struct {
	*source
	version schema.GroupVersionResource
	into    func(*objects) *[]*unstructured.Unstructured
	stop    context.CancelFunc
	missed  bool // it was not served when last looked
}

// refresh looks which kinds are served and starts and stops informers accordingly. They run until ctx ends. After an error
// all stays as it was. It must be called from one goroutine.
func (c *custom) refresh(ctx context.Context) error {
	served := map[string]map[string]bool{} // by group version
	want := map[string]schema.GroupVersionResource{}
	for _, k := range optional {
		for _, v := range k.versions {
			gv := schema.GroupVersion{Group: k.group, Version: v}
			if _, asked := served[gv.String()]; !asked {
				resources, err := servedBy(ctx, c.discovery, gv.String())
				if err != nil {
					return err
				}
				served[gv.String()] = resources
			}
			if served[gv.String()][k.resource] {
				want[k.resource] = gv.WithResource(k.resource)
				break
			}
		}
	}
	for _, k := range optional {
		version, ok := want[k.resource]
		if err := c.replace(ctx, k, version, ok); err != nil {
			return err
		}
	}
	return nil
}

// replace makes the informer of one kind the one that is wanted. A kind that is served no longer is given up only when
// it is missed for the second time: an API server that has just started may not know its kinds yet.
func (c *custom) replace(ctx context.Context, k kind, version schema.GroupVersionResource, want bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if have := c.live[k.resource]; have != nil {
		if want && have.version == version || !want && !have.missed {
			have.missed = !want
			return nil
		}
		c.log.InfoContext(ctx, "a kind is no longer served", "resource", have.version.String())
		have.stop()
		delete(c.live, k.resource)
		c.changed()
	}
	if !want {
		return nil
	}
	s, err := newSource(version.GroupResource().String(), c.open(version), c.log, func(any) { c.changed() })
	if err != nil {
		return err
	}
	c.log.InfoContext(ctx, "a kind is served", "resource", version.String())
	running, stop := context.WithCancel(ctx)
	c.live[k.resource] = &watched{source: s, version: version, into: k.into, stop: stop}
	c.running.Go(func() { s.informer.RunWithContext(running) })
	c.running.Go(func() {
		if s.await(running) {
			c.changed() // A kind without objects changes nothing else when it is known.
		}
	})
	return nil
}

// waiting names the served kinds that have not been listed yet, with the reason where one is known.
func (c *custom) waiting() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, w := range c.live {
		out = w.appendWaiting(out)
	}
	slices.Sort(out)
	return out
}

// list adds all objects to o, and the version in which exports are read. It returns false if a kind has not been listed
// yet, so that o is not whole.
func (c *custom) list(o *objects) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.live {
		if !w.informer.HasSynced() {
			return false
		}
		to := w.into(o)
		*to = append(*to, listOf[*unstructured.Unstructured](w.source)...)
	}
	if w := c.live[exportResource]; w != nil {
		o.settings.exportVersion = w.version.Version
	}
	return true
}
