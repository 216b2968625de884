// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection"
)

const namespace = "weir-system"

func pod(name string, uid types.UID, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}, Status: corev1.PodStatus{Phase: phase}}
}

// candidate runs for the lease until it is killed, which releases nothing, or the test ends.
type candidate struct {
	kill func()

	mu    sync.Mutex
	since time.Time // when it began to lead
}

func (c *candidate) led() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.since
}

func run(t *testing.T, kube kubernetes.Interface, self Pod) *candidate {
	t.Helper()
	c := &candidate{}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: NewLock(kube, namespace, self), LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.since = time.Now()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { elector.Run(ctx) })
	c.kill = func() {
		cancel()
		wg.Wait()
	}
	t.Cleanup(c.kill)
	return c
}

// after is how long after a first leader was killed a second candidate leads.
func after(t *testing.T, kube kubernetes.Interface, first, second Pod) time.Duration {
	t.Helper()
	a := run(t, kube, first)
	time.Sleep(time.Minute) //nolint:forbidigo // fake time.
	if a.led().IsZero() {
		t.Fatal("nobody leads")
	}
	a.kill()
	killed := time.Now()
	b := run(t, kube, second)
	time.Sleep(time.Minute) //nolint:forbidigo // fake time.
	if b.led().IsZero() {
		t.Fatal("nobody leads any more")
	}
	b.kill()
	return b.led().Sub(killed)
}

func TestAKilledHubIsBackAtOnceWhereItsPodIsItsOwnOrIsNoMore(t *testing.T) {
	me, other := Pod{"hub-a", "1"}, Pod{"hub-b", "2"}
	for name, c := range map[string]struct {
		second  Pod
		objects []runtime.Object
		atOnce  bool
	}{
		"its container is started anew":          {me, []runtime.Object{pod("hub-a", "1", corev1.PodRunning)}, true},
		"its pod was deleted":                    {other, nil, true},
		"its pod was made anew under the name":   {Pod{"hub-a", "9"}, []runtime.Object{pod("hub-a", "9", corev1.PodRunning)}, true},
		"its pod was evicted":                    {other, []runtime.Object{pod("hub-a", "1", corev1.PodFailed)}, true},
		"its pod is there, and nobody knows how": {other, []runtime.Object{pod("hub-a", "1", corev1.PodRunning)}, false},
		"it is none of a pod":                    {Pod{}, []runtime.Object{pod("hub-a", "1", corev1.PodRunning)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				took := after(t, fake.NewClientset(c.objects...), me, c.second)
				if c.atOnce && took > time.Second || !c.atOnce && took < 13*time.Second {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

func TestWhoCannotSeeTheLeadersPodWaitsForItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset()
		kube.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("forbidden") })
		if took := after(t, kube, Pod{"hub-a", "1"}, Pod{"hub-b", "2"}); took < 13*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestTheLeaderKeepsTheLeaseWhileItsPodIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset(pod("hub-a", "1", corev1.PodRunning), pod("hub-b", "2", corev1.PodRunning))
		a := run(t, kube, Pod{"hub-a", "1"})
		time.Sleep(time.Second) //nolint:forbidigo // fake time.
		b := run(t, kube, Pod{"hub-b", "2"})
		time.Sleep(10 * time.Minute) //nolint:forbidigo // fake time.
		if a.led().IsZero() || !b.led().IsZero() {
			t.Errorf("a leads since %s, b since %s", a.led(), b.led())
		}
		lease, err := kube.CoordinationV1().Leases(namespace).Get(t.Context(), LeaseName, metav1.GetOptions{})
		if err != nil || *lease.Spec.HolderIdentity != "pod/hub-a/1" {
			t.Errorf("%v, %v", lease, err)
		}
		a.kill()
		b.kill()
	})
}

func TestTwoProcessesWithoutAPodAreNeverOneCandidate(t *testing.T) {
	kube := fake.NewClientset()
	a, b := NewLock(kube, namespace, Pod{}).Identity(), NewLock(kube, namespace, Pod{Name: "only-a-name"}).Identity()
	if a == b || podOf(a) != (Pod{}) || podOf(b) != (Pod{}) {
		t.Errorf("%s, %s", a, b)
	}
	if got := podOf(Pod{"hub-a", "1"}.identity()); got != (Pod{"hub-a", "1"}) {
		t.Errorf("got %v", got)
	}
}
