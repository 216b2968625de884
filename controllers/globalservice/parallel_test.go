// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/resview/pb"
)

func named(name string) func(*pb.ServiceFacts) {
	return func(f *pb.ServiceFacts) { f.Ref.Name = name }
}

// tellMore adds services to what each member's agent tells.
func (w *world) tellMore(keys []types.NamespacedName) {
	w.Helper()
	for name, m := range w.members {
		for _, k := range keys {
			if err := m.agent.SetService(facts(3, named(k.Name))); err != nil {
				w.Fatal(err)
			}
		}
		w.link.Await(w.T, name+" has told", func() bool { return len(w.link.Server.Snapshot(name).Services) == len(keys)+1 })
	}
}

// lookAt reconciles one service once.
func (w *world) lookAt(k types.NamespacedName) error {
	if _, err := w.r.Reconcile(w.Context(), ctrl.Request{NamespacedName: k}); err != nil {
		return fmt.Errorf("%s: %w", k, err)
	}
	return nil
}

// lookAtAll looks at all services at once, each several times, as the controller does: never twice at the same one.
func (w *world) lookAtAll(keys []types.NamespacedName, times int) {
	w.Helper()
	var wg sync.WaitGroup
	errs := make([]error, len(keys))
	for i, k := range keys {
		wg.Go(func() {
			for range times {
				errs[i] = errors.Join(errs[i], w.lookAt(k))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		w.Fatal(err)
	}
}

func TestServicesThatAreLookedAtSideBySideEachGetWhatIsTheirs(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)})
	w.r.Recorder = events.NewFakeRecorder(1000)
	w.r.Config.SightLost = time.Minute // the door's rate makes this test last about as long as a beat.
	keys := []types.NamespacedName{key}
	for i := range 7 {
		keys = append(keys, types.NamespacedName{Namespace: key.Namespace, Name: fmt.Sprintf("echo-%d", i)})
	}
	w.tellMore(keys[1:])
	w.lookAtAll(keys, 2)
	for i, k := range keys {
		var gs v1alpha1.GlobalService
		if err := w.hub.Get(t.Context(), k, &gs); err != nil {
			t.Fatal(err)
		}
		gs.Spec = split(int64(i+1), map[string]int32{"c1": 500, "c2": 500}, "c2")
		if err := w.hub.Update(t.Context(), &gs); err != nil {
			t.Fatal(err)
		}
	}
	w.lookAtAll(keys, 3)
	for name, m := range w.members {
		w.link.Await(t, name+" is asked for every service", func() bool { return len(m.agent.Targets()) == len(keys) })
		written := strings.Join(m.Writes(), "\n") + "\n"
		for _, k := range keys {
			if !strings.Contains(written, "virtualservices/weir-"+k.Name+"\n") {
				t.Errorf("%s has no routes of %s", name, k.Name)
			}
		}
	}
	for i, k := range keys {
		var gs v1alpha1.GlobalService
		if err := w.hub.Get(t.Context(), k, &gs); err != nil {
			t.Fatal(err)
		}
		if reason, message := ready(&gs); reason != "True Steered" || w.r.targets[k].target.GetGeneration() != int64(i+1) {
			t.Errorf("%s: %s: %s, generation %d is asked for", k, reason, message, w.r.targets[k].target.GetGeneration())
		}
	}
	for name, m := range w.members {
		for _, k := range keys {
			m.agent.RemoveService(k)
		}
		w.link.Await(t, name+" has told", func() bool { return len(w.link.Server.Snapshot(name).Services) == 0 })
	}
	w.lookAtAll(keys, 1)
	w.ahead += releaseHold + time.Second
	w.lookAtAll(keys, 1)
	for _, k := range keys {
		if err := w.hub.Get(t.Context(), k, &v1alpha1.GlobalService{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s is kept: %v", k, err)
		}
	}
	if len(w.r.targets)+len(w.r.done)+len(w.r.stands) > 0 {
		t.Errorf("kept in mind: %d targets, %d orders, %d stand-ins", len(w.r.targets), len(w.r.done), len(w.r.stands))
	}
}

func TestAHubThatHasJustStartedWaitsForAServiceThatWaitsForAMember(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)})
	other := types.NamespacedName{Namespace: key.Namespace, Name: "other"}
	w.tellMore([]types.NamespacedName{other})
	w.lookAtAll([]types.NamespacedName{key, other}, 1) // both are made; nothing is asked for yet
	w.r.looked = map[types.NamespacedName]bool{}
	begun, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.members["c2"].Fail(func(r fleettest.Request) error {
		if strings.HasSuffix(r.Path, "/other") || strings.HasSuffix(r.Path, "/weir-other") {
			once.Do(func() { close(begun) })
			<-goOn
		}
		return nil
	})
	looked := make(chan error, 1)
	go func() { looked <- w.lookAt(other) }()
	<-begun
	if err := w.lookAt(key); err != nil {
		t.Fatal(err)
	}
	w.r.mu.Lock()
	done := w.r.looked[other]
	w.r.mu.Unlock()
	if done {
		t.Error("provers are asked for less than before, while it is not known what is asked of them for the other one")
	}
	close(goOn)
	if err := <-looked; err != nil {
		t.Fatal(err)
	}
	w.link.Await(t, "c1 is asked for both", func() bool { return len(w.members["c1"].agent.Targets()) == 2 })
}
