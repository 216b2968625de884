// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servicedns

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/dns/zone"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// world is a hub with services and members, the reconciler, and a server that clients ask.
type world struct {
	testing.TB

	hub      client.WithWatch
	r        *Reconciler
	server   *fakeServer
	recorder *events.FakeRecorder
	now      time.Time
	refuse   func(name string) bool // status writes that fail, by the name of the service
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{TB: t, now: start}
	w.hub = fleettest.Hub(t, interceptor.Funcs{
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			if named, ok := o.(interface{ GetName() string }); ok && w.refuse != nil && w.refuse(named.GetName()) {
				return errors.New("refused")
			}
			return c.SubResource(sub).Apply(ctx, o, opts...)
		},
	}, objects...)
	w.restart()
	return w
}

// restart begins another life of the hub.
func (w *world) restart() {
	w.Helper()
	z, err := ParseZone("global.example.com", []string{"ns1.global.example.com=192.0.2.53"}, 5*time.Second)
	if err != nil {
		w.Fatal(err)
	}
	w.recorder = events.NewFakeRecorder(1000)
	w.server = &fakeServer{since: w.now, clock: func() time.Time { return w.now }}
	w.r = &Reconciler{Client: w.hub, Recorder: w.recorder, Now: func() time.Time { return w.now }, Zone: z, Server: w.server}
}

func (w *world) look() (ctrl.Result, error) { return w.r.Reconcile(context.Background(), all) }

// settle looks until nothing changes any more.
func (w *world) settle() {
	w.Helper()
	for range 3 {
		if _, err := w.look(); err != nil {
			w.Fatal(err)
		}
	}
}

// pass lets time go by, and looks.
func (w *world) pass(d time.Duration) {
	w.Helper()
	w.now = w.now.Add(d)
	w.settle()
}

func (w *world) get(name string) *v1alpha1.GlobalService {
	w.Helper()
	var gs v1alpha1.GlobalService
	if err := w.hub.Get(context.Background(), client.ObjectKey{Namespace: "demo", Name: name}, &gs); err != nil {
		w.Fatal(err)
	}
	return &gs
}

// change changes a service's plan and what was seen of it.
func (w *world) change(name string, f func(*v1alpha1.GlobalService)) {
	w.Helper()
	gs := w.get(name)
	before := gs.Spec.DeepCopy()
	f(gs)
	status := gs.Status
	if !equality.Semantic.DeepEqual(*before, gs.Spec) { // who writes a spec owns what it holds
		if err := w.hub.Update(context.Background(), gs, client.FieldOwner("world")); err != nil {
			w.Fatal(err)
		}
	}
	gs.Status = status
	if err := w.hub.Status().Update(context.Background(), gs, client.FieldOwner("world")); err != nil {
		w.Fatal(err)
	}
}

// plan sets whether a member may be named.
func (w *world) plan(name, cluster string, p v1alpha1.DNSPresence) {
	w.Helper()
	w.change(name, func(gs *v1alpha1.GlobalService) {
		for i := range gs.Spec.Clusters {
			if gs.Spec.Clusters[i].Name == cluster {
				gs.Spec.Clusters[i].DNS = p
			}
		}
	})
}

// standing says in short how a member stands.
func (w *world) standing(name, cluster string) string {
	w.Helper()
	if row := rowOf(w.get(name), cluster); row != nil {
		return string(row.Standing)
	}
	return ""
}

// resolvable is the condition in short: its reason and its message.
func (w *world) resolvable(name string) (reason, message string) {
	w.Helper()
	c := meta.FindStatusCondition(w.get(name).Status.Conditions, v1alpha1.ConditionResolvable)
	if c == nil {
		return "", ""
	}
	return c.Reason, c.Message
}

// answers are the clusters that a name is answered with, over many draws; nil of a name that does not exist.
func (w *world) answers(name string) []string {
	w.Helper()
	out := []string{}
	for draw := range uint64(64) {
		a := w.server.table.Lookup(zone.Question{Name: name + ".", Type: zone.TypeA, Draw: draw << 58})
		if a.Rcode == zone.NameError {
			return nil
		}
		if a.Target >= 0 {
			out = append(out, w.server.table.Targets()[a.Target].Cluster)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fakeServer keeps on record what clients were answered.
type fakeServer struct {
	since time.Time
	clock func() time.Time
	table *zone.Table
	given map[zone.Target]time.Time
	sets  int
}

func (s *fakeServer) Set(t *zone.Table) {
	s.table = t
	s.sets++
}

func (s *fakeServer) Report() zone.Report {
	out := zone.Report{Since: s.since, Serial: s.table.Serial()}
	for target, until := range s.given {
		if until.After(s.clock()) {
			out.Given = append(out.Given, zone.Given{Target: target, Last: until, CachedUntil: until})
		}
	}
	return out
}

// ask has a client ask for a name until it is answered with a cluster; it keeps the answer for its time.
func (s *fakeServer) ask(name, cluster string) bool {
	for draw := range uint64(256) {
		a := s.table.Lookup(zone.Question{Name: name + ".", Type: zone.TypeA, Draw: draw << 56})
		if a.Target < 0 || s.table.Targets()[a.Target].Cluster != cluster {
			continue
		}
		if s.given == nil {
			s.given = map[zone.Target]time.Time{}
		}
		target := s.table.Targets()[a.Target]
		s.given[target] = later(s.given[target], s.clock().Add(a.TTL.Duration()))
		return true
	}
	return false
}

// serviceOf is a service with weights in the members that are named, evenly.
func serviceOf(name string, wishes *v1alpha1.NameWishes, clusters ...string) *v1alpha1.GlobalService {
	gs := &v1alpha1.GlobalService{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}
	gs.Spec.Phase, gs.Spec.Generation = v1alpha1.RulesWeights, 2
	gs.Status.NameWishes = wishes
	for i, c := range clusters {
		weight := int32(1000 / len(clusters))
		if i == 0 {
			weight += int32(1000 % len(clusters))
		}
		gs.Spec.Clusters = append(gs.Spec.Clusters, v1alpha1.GlobalServiceCluster{
			Name: c, Weight: weight, Fence: v1alpha1.FenceExact, NewPods: v1alpha1.PodsOpen, DNS: v1alpha1.DNSNamed,
		})
		gs.Status.Clusters = append(gs.Status.Clusters, v1alpha1.GlobalServiceClusterStatus{
			Name: c, Replicas: 3, Ready: 3, Sight: v1alpha1.SightSeen,
		})
	}
	return gs
}

// memberOf is a member with the addresses that its agent saw.
func memberOf(name string, addresses ...string) *v1alpha1.Cluster {
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.APIEndpoint, c.Spec.CABundle = "https://192.0.2.200:6443", []byte("-----BEGIN CERTIFICATE-----")
	c.Status.IngressAddresses = addresses
	return c
}

// three are three members, each with a way in.
func three() []client.Object {
	return []client.Object{memberOf("c1", "192.0.2.1"), memberOf("c2", "192.0.2.2", "2001:db8::2"), memberOf("c3", "192.0.2.3")}
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func joined(s []string) string { return strings.Join(s, " ") }

const own = "echo.demo.global.example.com"
