// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// TestWhileALateKindIsListedFactsStayAsTheyWere: a change is told in the end, though it came while it could not be shown.
func TestWhileALateKindIsListedFactsStayAsTheyWere(t *testing.T) {
	var busy atomic.Bool
	busy.Store(true)
	play(t, []runtime.Object{globalService("demo", "echo"), appPod("demo", "echo", "echo-1")}, func(s *stage) {
		s.settled(time.Second)
		s.tested.Facts()
		s.serve("networking.istio.io/v1", "sidecars")
		s.settled(refreshInterval + time.Second)
		if s.tested.Synced() {
			s.Error("synced though a kind that is served has not been listed")
		}
		if err := s.kube.CoreV1().Pods("demo").Delete(s.Context(), "echo-1", metav1.DeleteOptions{}); err != nil {
			s.Fatal(err)
		}
		s.settled(time.Second)
		if services, _ := s.tested.Facts(); len(services[echo].GetPods()) != 1 {
			s.Errorf("facts moved while the member was not known in full: %v", services[echo])
		}
		if _, err := s.tested.Snapshot(s.Context()); err == nil {
			s.Error("a snapshot is shown while the member is not known in full")
		}
		busy.Store(false)
		if !s.settled(time.Minute) {
			s.Error("nothing was told when the kind was listed")
		}
		if services, _ := s.tested.Facts(); len(services[echo].GetPods()) != 0 {
			s.Errorf("facts stand still: %v", services[echo])
		}
	}, func(s *stage) {
		s.dynamic.PrependReactor("list", "sidecars", func(clienttesting.Action) (bool, runtime.Object, error) {
			return busy.Load(), nil, apierrors.NewServiceUnavailable("starting")
		})
	})
}

func TestAKindThatIsNoLongerServedIsWatchedNoLonger(t *testing.T) {
	play(t, []runtime.Object{globalService("demo", "echo")}, func(s *stage) {
		s.serve("multicluster.x-k8s.io/v1alpha1", "serviceexports")
		s.settled(refreshInterval + time.Second)
		s.serveOnly()
		s.settled(2*refreshInterval + time.Second)
		s.create("multicluster.x-k8s.io/v1alpha1/serviceexports",
			object(s, "{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ServiceExport, metadata: {namespace: demo, name: echo}}"))
		if s.settled(time.Second) {
			s.Error("a change was told of a kind that is not served")
		}
	})
}

func TestTheBestServedVersionIsRead(t *testing.T) {
	play(t, []runtime.Object{globalService("demo", "echo")}, func(s *stage) {
		s.serve("multicluster.x-k8s.io/v1beta1", "serviceexports")
		s.create("multicluster.x-k8s.io/v1beta1/serviceexports",
			object(s, "{apiVersion: multicluster.x-k8s.io/v1beta1, kind: ServiceExport, metadata: {namespace: demo, name: echo}}"))
		s.settled(refreshInterval + time.Second)
		if services, _ := s.tested.Facts(); !services[echo].GetExported() {
			s.Error("an export of the only served version is not seen")
		}
		s.serve("multicluster.x-k8s.io/v1alpha1", "serviceexports")
		s.settled(refreshInterval + time.Second)
		if services, _ := s.tested.Facts(); services[echo].GetExported() {
			s.Error("the version that istiod reads is served, and another one is read")
		}
	})
}

func TestANewIstiodIsAskedAtOnce(t *testing.T) {
	play(t, nil, func(s *stage) {
		s.settled(time.Second)
		if _, err := s.kube.CoreV1().Pods("istio-system").Create(s.Context(), istiodPod("istiod-1"), metav1.CreateOptions{}); err != nil {
			s.Fatal(err)
		}
		if !s.settled(2 * restInterval) {
			s.Error("a new istiod was not told")
		}
		if _, member := s.tested.Facts(); member.GetIstioVersion() != "1.31.0" {
			s.Errorf("version %q", member.GetIstioVersion())
		}
	})
}

func TestNewSettingsAreReadAndRulesReadAnewByThem(t *testing.T) {
	objects := []runtime.Object{meshConfig("istio", "rootNamespace: old-root"), globalService("demo", "echo")}
	play(t, objects, func(s *stage) {
		s.settled(time.Second)
		s.serve("networking.istio.io/v1", "destinationrules")
		// Only as a rule of the root namespace does it reach anybody.
		s.create("networking.istio.io/v1/destinationrules", object(s,
			"{apiVersion: networking.istio.io/v1, kind: DestinationRule, metadata: {namespace: new-root, name: all}, spec: {host: '*.local', exportTo: [other]}}"))
		s.settled(refreshInterval + time.Second)
		services, member := s.tested.Facts()
		if member.GetMeshRootNamespace() != "old-root" || len(services[echo].GetRules()) != 0 {
			s.Fatalf("root namespace %q, rules %v", member.GetMeshRootNamespace(), services[echo].GetRules())
		}

		changed := meshConfig("istio", "rootNamespace: new-root")
		if _, err := s.kube.CoreV1().ConfigMaps("istio-system").Update(s.Context(), changed, metav1.UpdateOptions{}); err != nil {
			s.Fatal(err)
		}
		if !s.settled(refreshInterval + time.Second) {
			s.Error("new settings were not told")
		}
		services, member = s.tested.Facts()
		if member.GetMeshRootNamespace() != "new-root" || len(services[echo].GetRules()) != 1 {
			s.Errorf("root namespace %q, rules %v", member.GetMeshRootNamespace(), services[echo].GetRules())
		}
	})
}

func TestAKindThatIsMissedOnceIsNotTakenForGone(t *testing.T) {
	play(t, []runtime.Object{globalService("demo", "echo")}, func(s *stage) {
		s.create("multicluster.x-k8s.io/v1alpha1/serviceexports",
			object(s, "{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ServiceExport, metadata: {namespace: demo, name: echo}}"))
		s.serve("multicluster.x-k8s.io/v1alpha1", "serviceexports")
		s.settled(refreshInterval + time.Second)
		known := s.served
		for range 5 {
			s.serveOnly()
			if s.settled(refreshInterval) {
				s.Error("a kind that was missed once was told as gone")
			}
			s.serveOnly(known...)
			s.settled(refreshInterval)
		}
		if services, _ := s.tested.Facts(); !services[echo].GetExported() {
			s.Error("an export was dropped though its kind was only missed now and then")
		}
	})
}
