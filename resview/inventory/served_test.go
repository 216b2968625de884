// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	clienttesting "k8s.io/client-go/testing"

	"github.com/weir-io/weir/resview/pb"
)

// kinds is what is served of one group version.
func kinds(groupVersion string, names ...string) *metav1.APIResourceList {
	list := &metav1.APIResourceList{GroupVersion: groupVersion}
	for _, name := range names {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: strings.ToLower(name) + "s", Kind: name})
	}
	return list
}

func TestWhatIsServedIsToldByKindAndVersion(t *testing.T) {
	apps := kinds("apps/v1", "Deployment", "StatefulSet")
	apps.APIResources = append(apps.APIResources,
		metav1.APIResource{Name: "deployments/scale", Kind: "Scale", Group: "autoscaling", Version: "v1"}, metav1.APIResource{Name: "nameless"},
		metav1.APIResource{Name: "odds", Kind: "Odd", Group: "example.com", Version: "v2"})
	got := slices.Sorted(maps.Keys(kindsOf([]*metav1.APIResourceList{kinds("v1", "Pod"), apps, kinds(strings.Repeat("x", maxServedName)+"/v1", "Long")})))
	want := []string{"apps/v1/Deployment", "apps/v1/StatefulSet", "example.com/v2/Odd", "v1/Pod"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if err := hub(t).SetServed(&pb.ServedAPIs{Apis: got}); err != nil {
		t.Errorf("the hub refuses it: %v", err)
	}
}

func TestWhatIsServedIsLookedAtAgainAndKeptWhileNobodyAnswers(t *testing.T) {
	var down atomic.Bool
	play(t, nil, func(s *stage) {
		s.settled(time.Second)
		if got := s.tested.Served(); !slices.Equal(got, []string{"apps/v1/Deployment"}) {
			s.Fatalf("served: %q", got)
		}
		s.serveOnly(kinds("apps/v1", "Deployment"), kinds("example.com/v1", "Thing"))
		if !s.settled(servedInterval + refreshInterval) {
			s.Error("a kind that came was not told")
		}
		if got := s.tested.Served(); !slices.Equal(got, []string{"apps/v1/Deployment", "example.com/v1/Thing"}) {
			s.Errorf("after a kind came: %q", got)
		}
		down.Store(true)
		s.settled(3 * servedInterval)
		if got := s.tested.Served(); len(got) != 2 || !s.tested.Synced() {
			s.Errorf("while nobody answers: %q", got)
		}
		down.Store(false)
		s.serveOnly(kinds("apps/v1", "Deployment"))
		if !s.settled(servedInterval+refreshInterval) || len(s.tested.Served()) != 1 {
			s.Errorf("after a kind went: %q", s.tested.Served())
		}
		if s.settled(10 * time.Minute) {
			s.Error("a change was told where nothing changed")
		}
	}, func(s *stage) {
		s.serveOnly(kinds("apps/v1", "Deployment"))
		s.kube.PrependReactor("get", "group", func(clienttesting.Action) (bool, runtime.Object, error) {
			return down.Load(), nil, apierrors.NewServiceUnavailable("starting")
		})
	})
}

// An API server asks others for what they serve, and says which of them did not answer.
func TestOneGroupThatDoesNotAnswerTakesNoKindAway(t *testing.T) {
	s := served{apis: []string{"metrics.k8s.io/v1beta1/PodMetrics", "metrics.k8s.io/v1/PodMetrics", "old.io/v1/Thing", "v1/Event"}}
	away := &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{
		{Group: "metrics.k8s.io", Version: "v1beta1"}: errors.New("no endpoints"), {Version: "v1"}: errors.New("asked too much"),
	}}
	fake := &answering{lists: []*metav1.APIResourceList{kinds("apps/v1", "Deployment")}, err: away}
	news, err := s.refresh(t.Context(), fake, time.Unix(1000, 0))
	if want := []string{"apps/v1/Deployment", "metrics.k8s.io/v1beta1/PodMetrics", "v1/Event"}; news || err != nil || !slices.Equal(s.apis, want) {
		t.Errorf("%q, want %q (%v)", s.apis, want, err)
	}
}

func TestHalfAListIsNeverTold(t *testing.T) {
	many := &metav1.APIResourceList{GroupVersion: "example.com/v1"}
	for i := range maxServed + 1 {
		many.APIResources = append(many.APIResources, metav1.APIResource{Name: fmt.Sprintf("k%d", i), Kind: fmt.Sprintf("K%d", i)})
	}
	s := served{apis: []string{"v1/Pod"}}
	fake := &answering{lists: []*metav1.APIResourceList{many}}
	now := time.Unix(1000, 0)
	if news, err := s.refresh(t.Context(), fake, now); !news || err == nil || s.apis != nil {
		t.Errorf("%d are told (%v)", len(s.apis), err)
	}
	if news, err := s.refresh(t.Context(), fake, now.Add(servedInterval)); news || err == nil {
		t.Errorf("the same is said again: %v", err)
	}
	many.APIResources = many.APIResources[:maxServed]
	if _, err := s.refresh(t.Context(), fake, now.Add(2*servedInterval)); err != nil || len(s.apis) != maxServed {
		t.Errorf("%d are told (%v)", len(s.apis), err)
	}
	if err := hub(t).SetServed(&pb.ServedAPIs{Apis: s.apis}); err != nil {
		t.Errorf("the hub refuses as many as are told: %v", err)
	}
}

// answering says what it is told to.
type answering struct {
	discovery.DiscoveryInterface
	lists []*metav1.APIResourceList
	err   error
}

func (a *answering) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return nil, a.lists, a.err
}
