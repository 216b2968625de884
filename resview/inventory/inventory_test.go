// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/dynamic/dynamicinformer"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

// stage is a member without an API server.
type stage struct {
	*testing.T
	kube    *fake.Clientset
	dynamic *dynamicfake.FakeDynamicClient
	tested  *Inventory
	silent  atomic.Bool // the API server does not answer
	served  []*metav1.APIResourceList
}

// play runs one inventory over the objects, in fake time. What prepares the stage is done before the inventory runs.
func play(t *testing.T, objects []runtime.Object, script func(*stage), prepare ...func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{T: t, kube: fake.NewClientset(objects...)}
		lists := map[schema.GroupVersionResource]string{}
		for _, k := range optional {
			for _, v := range k.versions {
				lists[schema.GroupVersionResource{Group: k.group, Version: v, Resource: k.resource}] = "List"
			}
		}
		s.dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
		var err error
		s.tested, err = newInventory(Config{IstioNamespace: "istio-system"}, clients{
			kube: s.kube,
			open: func(gvr schema.GroupVersionResource) cache.SharedIndexInformer {
				return dynamicinformer.NewFilteredDynamicInformer(s.dynamic, gvr, "", 0, nil, nil).Informer()
			},
			version: func(context.Context, string) (string, error) { return "1.31.0-abc-Clean", nil },
			answers: func(context.Context) error {
				if s.silent.Load() {
					return errors.New("no route to host")
				}
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if services, member := s.tested.Facts(); s.tested.Synced() || services != nil || member != nil {
			t.Error("facts are shown before anything was listed")
		}
		if _, err := s.tested.Snapshot(t.Context()); err == nil {
			t.Error("a snapshot is shown before anything was listed")
		}
		for _, f := range prepare {
			f(s)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.tested.Run(ctx) }()
		script(s)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// serve lets the API server serve a resource from now on.
func (s *stage) serve(groupVersion string, resources ...string) {
	list := &metav1.APIResourceList{GroupVersion: groupVersion}
	for _, r := range resources {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: r, Namespaced: true})
	}
	s.serveOnly(append(slices.Clone(s.served), list)...)
}

// serveOnly lets the API server serve what is given and nothing else.
func (s *stage) serveOnly(lists ...*metav1.APIResourceList) {
	synctest.Wait()
	s.kube.Lock() // Each question of the fake takes this lock first.
	defer s.kube.Unlock()
	s.served = lists
	s.kube.Discovery().(*fakediscovery.FakeDiscovery).Resources = lists
}

// settled waits until nothing moves any more, for at most a minute of fake time, and says whether a change was told.
func (s *stage) settled(d time.Duration) (told bool) {
	time.Sleep(d) //nolint:forbidigo // Time is fake here.
	synctest.Wait()
	select {
	case <-s.tested.Changed():
		return true
	default:
		return false
	}
}

var echo = types.NamespacedName{Namespace: "demo", Name: "echo"}

func TestFactsAreWholeAndChangesAreTold(t *testing.T) {
	objects := []runtime.Object{
		namespace("istio-system", map[string]string{labelNetwork: "net1"}), namespace("demo", nil),
		istiodPod("istiod-1"), globalService("demo", "echo"), appPod("demo", "echo", "echo-1"),
		replicaSetOf("demo", "echo"), deployment("demo", "echo", 1),
	}
	play(t, objects, func(s *stage) {
		if !s.settled(time.Second) || !s.tested.Synced() {
			s.Fatal("a member that answers is not known in full")
		}
		services, member := s.tested.Facts()
		if got := services[echo].GetPods(); len(got) != 1 || got[0].GetWorkload() != "Deployment/echo" {
			s.Errorf("pods of echo: %v", got)
		}
		if member.GetIstioVersion() != "1.31.0" || member.GetIstioClusterId() != "c1" || member.GetNetwork() != "net1" {
			s.Errorf("member: %v", member)
		}
		snapshot, err := s.tested.Snapshot(s.Context())
		if err != nil || len(snapshot.Istiods) != 1 || len(snapshot.Pods) != 1 {
			s.Errorf("snapshot %+v, error %v", snapshot, err)
		}

		fenced := appPod("demo", "echo", "echo-1", labelled(labelFence, "true"))
		if _, err := s.kube.CoreV1().Pods("demo").Update(s.Context(), fenced, metav1.UpdateOptions{}); err != nil {
			s.Fatal(err)
		}
		if s.settled(settle / 2) {
			s.Error("a change was told before others could join it")
		}
		if !s.settled(settle) {
			s.Error("a change was not told")
		}
		services, _ = s.tested.Facts()
		if !services[echo].GetPods()[0].GetFenced() {
			s.Error("the fence of a pod is not in the facts")
		}
		if s.settled(10 * time.Minute) {
			s.Error("a change was told where nothing changed")
		}
	})
}

func TestKindsThatComeLaterAreReadAndThoseThatGoAreEmpty(t *testing.T) {
	play(t, []runtime.Object{globalService("demo", "echo")}, func(s *stage) {
		s.settled(time.Second)
		services, _ := s.tested.Facts()
		if services[echo] == nil || services[echo].GetExported() || len(services[echo].GetRules()) > 0 {
			s.Fatalf("a member without Istio and MCS: %v", services[echo])
		}

		export := object(s, "{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ServiceExport, metadata: {namespace: demo, name: echo}}")
		rule := object(s, "{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {namespace: demo, name: theirs}, spec: {hosts: [echo]}}")
		s.create("multicluster.x-k8s.io/v1alpha1/serviceexports", export)
		s.create("networking.istio.io/v1/virtualservices", rule)
		s.serve("multicluster.x-k8s.io/v1alpha1", "serviceexports")
		s.serve("networking.istio.io/v1", "virtualservices", "destinationrules", "sidecars")
		if !s.settled(refreshInterval + time.Second) {
			s.Error("kinds that came were not told")
		}
		services, _ = s.tested.Facts()
		if !services[echo].GetExported() || len(services[echo].GetRules()) != 1 || services[echo].GetRules()[0].GetName() != "theirs" {
			s.Errorf("after the kinds came: %v", services[echo])
		}

		s.serveOnly()
		if !s.settled(2*refreshInterval + time.Second) {
			s.Error("kinds that went were not told")
		}
		services, _ = s.tested.Facts()
		if services[echo].GetExported() || len(services[echo].GetRules()) > 0 {
			s.Errorf("after the kinds went: %v", services[echo])
		}
	})
}

func (s *stage) create(where string, o *unstructured.Unstructured) {
	s.Helper()
	part := strings.Split(where, "/")
	gvr := schema.GroupVersionResource{Group: part[0], Version: part[1], Resource: part[2]}
	if err := s.dynamic.Tracker().Create(gvr, o, o.GetNamespace()); err != nil {
		s.Fatal(err)
	}
}

func TestWhatCannotBeListedIsNamedAndNothingIsShown(t *testing.T) {
	forbidden := apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no such right"))
	play(t, []runtime.Object{globalService("demo", "echo")}, func(s *stage) {
		s.settled(time.Second)
		if services, member := s.tested.Facts(); s.tested.Synced() || services != nil || member != nil {
			s.Error("facts are shown though pods cannot be listed")
		}
		_, err := s.tested.Snapshot(s.Context())
		if err == nil || !strings.Contains(err.Error(), "pods") || !strings.Contains(err.Error(), "no such right") {
			s.Errorf("the error does not tell what is missing: %v", err)
		}
	}, func(s *stage) {
		s.kube.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden })
	})
}

func TestAServerThatDoesNotSayWhatItServesIsNotTakenForOneThatServesNothing(t *testing.T) {
	var down atomic.Bool
	down.Store(true)
	play(t, []runtime.Object{globalService("demo", "echo")}, func(s *stage) {
		s.settled(time.Minute)
		if s.tested.Synced() {
			s.Error("synced though it is not known what is served")
		}
		down.Store(false)
		s.settled(2 * retryInterval)
		if !s.tested.Synced() {
			s.Error("not synced though the server answers again")
		}
	}, func(s *stage) {
		s.kube.PrependReactor("get", "resource", func(clienttesting.Action) (bool, runtime.Object, error) {
			return down.Load(), nil, apierrors.NewServiceUnavailable("starting")
		})
	})
}

func TestASilentServerLetsTheSnapshotLapseAndKeepsTheFacts(t *testing.T) {
	play(t, []runtime.Object{globalService("demo", "echo")}, func(s *stage) {
		s.settled(time.Second)
		if _, err := s.tested.Snapshot(s.Context()); err != nil {
			s.Fatalf("a server that answers: %v", err)
		}
		s.silent.Store(true)
		s.settled(maxSilence + listenInterval)
		if _, err := s.tested.Snapshot(s.Context()); err == nil {
			s.Error("a snapshot is shown though the server was silent for long")
		}
		if services, _ := s.tested.Facts(); services[echo] == nil {
			s.Error("facts were dropped because the server is silent")
		}
		s.silent.Store(false)
		s.settled(listenInterval)
		if _, err := s.tested.Snapshot(s.Context()); err != nil {
			s.Errorf("the server answers again: %v", err)
		}
	})
}
