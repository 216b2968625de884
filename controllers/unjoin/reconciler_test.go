// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package unjoin

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/member"
)

var everyStep = []v1alpha1.LeavingStep{v1alpha1.LeavingCopies, v1alpha1.LeavingRoutes, v1alpha1.LeavingRules, v1alpha1.LeavingDrains, v1alpha1.LeavingDone}

// nothingLeft fails unless weir's own is gone from member and hub, and what is others' is as it was.
func (w *world) nothingLeft() {
	w.Helper()
	ours, others := placed()
	if got := w.remains(ours); len(got) > 0 {
		w.Errorf("left in the member: %v", got)
	}
	if got := w.remains(others); len(got) != len(others) {
		w.Errorf("of what weir did not make, only this is left: %v", got)
	}
	var pod, hand corev1.Pod
	for name, p := range map[string]*corev1.Pod{"local-0": &pod, "by-hand": &hand} {
		if err := w.member.Store.Get(w.Context(), types.NamespacedName{Namespace: "demo", Name: name}, p); err != nil {
			w.Fatal(err)
		}
	}
	// The marks say which leader took the fence off: no write is let in without them.
	delete(pod.Annotations, v1alpha1.AnnotationHub)
	delete(pod.Annotations, v1alpha1.AnnotationEpoch)
	if d := cmp.Diff([]map[string]string{{"app": "local"}, {"team": "a"}}, []map[string]string{pod.Labels, pod.Annotations}); d != "" {
		w.Errorf("the fence: %s", d)
	}
	if hand.Labels[member.LabelFence] != "true" {
		w.Error("a fence that somebody else put on a pod is gone")
	}
	for _, o := range []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "weir-system", Name: "weir-member-c2"}},
		&v1alpha1.ClusterDrain{ObjectMeta: metav1.ObjectMeta{Name: "c2"}},
	} {
		if err := w.hub.Get(w.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
			w.Errorf("on the hub %T %s is left: %v", o, o.GetName(), err)
		}
	}
	if len(w.revoked) == 0 || w.revoked[0] != "c2" {
		w.Errorf("join tokens were revoked of %v", w.revoked)
	}
}

func TestAMemberIsLetGoStepByStepAndNothingOfWeirsIsLeft(t *testing.T) {
	w := newWorld(t, v1alpha1.UnjoinClean)
	begun := w.now
	var routes, rules time.Time
	w.member.Fail(func(r fleettest.Request) error {
		switch {
		case r.Method != http.MethodDelete:
		case strings.Contains(r.Path, "virtualservices"):
			routes = w.now
		case strings.Contains(r.Path, "destinationrules"):
			rules = w.now
		}
		return nil
	})
	if d := cmp.Diff(everyStep, w.steps()); d != "" {
		t.Error(d)
	}
	w.nothingLeft()
	if rules.Sub(routes) < routesHold || routes.Before(begun) {
		t.Errorf("routes went at %s, the subsets that they named at %s", routes, rules)
	}
	close(w.recorder.Events)
	var told []string
	for e := range w.recorder.Events {
		told = append(told, e)
	}
	if !slices.Contains(told, "Normal Unjoined nothing of weir's is left in c2") {
		t.Errorf("events: %v", told)
	}
}

// Wherever the hub dies, before or after one of its own writes, the next one goes on.
func TestKilledAtAnyWriteTheNextHubGoesOn(t *testing.T) {
	w := newWorld(t, v1alpha1.UnjoinClean)
	w.steps()
	total := w.writes
	if total < 8 {
		t.Fatalf("it wrote %d times", total)
	}
	for at := 1; at <= total; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d, done %t", at, after), func(t *testing.T) {
				w := newWorld(t, v1alpha1.UnjoinClean)
				w.dieAt, w.after = at, after
				w.steps()
				if w.writes < at {
					t.Fatalf("it was never killed: %d writes", w.writes)
				}
				w.nothingLeft()
			})
		}
	}
}

// A member of whose answers one in a few dozen is an error is asked again, and the order is kept.
func TestAMemberThatFailsNowAndThenIsAskedUntilNothingIsLeft(t *testing.T) {
	w := newWorld(t, v1alpha1.UnjoinClean)
	asked := 0
	w.member.Fail(func(fleettest.Request) error {
		if asked++; asked%37 == 0 {
			return apierrors.NewInternalError(fmt.Errorf("etcd: request timed out"))
		}
		return nil
	})
	w.steps()
	w.nothingLeft()
}

func TestReplicasThatStandThereKeepEverythingAsItIs(t *testing.T) {
	b := &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "deployment-api"}}
	b.Spec.Resource = v1alpha1.ResourceReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "api"}
	b.Spec.Plan = []v1alpha1.ClusterReplicas{{Name: "c1", Replicas: 4}, {Name: "c2", Replicas: 2}}
	w := newWorld(t, v1alpha1.UnjoinClean, b)
	for range 5 {
		c := w.look()
		if c == nil || c.Status.Leaving.Step != v1alpha1.LeavingHeld || !strings.Contains(c.Status.Leaving.Waiting[0], "2 planned: kubectl weir explain fdep shop/api") {
			t.Fatalf("got %+v", c)
		}
		w.now = w.now.Add(time.Minute)
	}
	if got := w.member.Writes(); len(got) > 0 {
		t.Errorf("wrote %v", got)
	}
	b.Spec.Plan = b.Spec.Plan[:1]
	var live v1alpha1.ResourceBinding
	if err := w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), &live); err != nil {
		t.Fatal(err)
	}
	live.Spec.Plan = b.Spec.Plan
	if err := w.hub.Update(t.Context(), &live); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(everyStep, w.steps()); d != "" {
		t.Error(d)
	}
}

func TestWhileAServiceCountsTheMemberNothingIsTakenAway(t *testing.T) {
	gs := service("api")
	gs.Status.Clusters = []v1alpha1.GlobalServiceClusterStatus{{Name: "c2", Weight: v1alpha1.WeightStatus{ProvenHigh: 333}}}
	w := newWorld(t, v1alpha1.UnjoinForce, gs)
	c := w.look()
	if l := c.Status.Leaving; l.Step != v1alpha1.LeavingTraffic || !strings.Contains(l.Waiting[0], "up to 33.3% of the requests to demo/api may still go there") {
		t.Errorf("got %+v", l)
	}
	if got := w.member.Writes(); len(got) > 0 {
		t.Errorf("wrote %v", got)
	}
}

// A service that no member has any more is kept by its own controller as long as a member leaves: that is not waited for.
func TestAServiceThatIsBeingReleasedIsSearchedForAndNotWaitedFor(t *testing.T) {
	gs := service("gone")
	gs.Annotations = map[string]string{v1alpha1.AnnotationReleased: "2026-01-01T00:00:00Z"}
	gs.Status.Clusters = []v1alpha1.GlobalServiceClusterStatus{{Name: "c2", Weight: v1alpha1.WeightStatus{ProvenHigh: 333}}}
	w := newWorld(t, v1alpha1.UnjoinClean, gs)
	rule := object(istioKind("DestinationRule"), "demo", "weir-gone", nil)
	if err := w.member.Store.Create(t.Context(), rule); err != nil {
		t.Fatal(err)
	}
	w.steps()
	w.nothingLeft()
	if got := w.remains([]client.Object{rule}); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}

func TestAMemberThatDoesNotAnswerIsWaitedForUnlessItIsGivenUp(t *testing.T) {
	w := newWorld(t, v1alpha1.UnjoinClean)
	w.member.Stop()
	for range 4 {
		w.look()
		w.help()
		w.now = w.now.Add(time.Minute)
	}
	c := w.cluster()
	if l := c.Status.Leaving; l.Step != v1alpha1.LeavingRoutes || !strings.Contains(l.Waiting[0], "kubectl weir unjoin c2 --force") {
		t.Fatalf("got %+v", l)
	}
	c.Annotations[v1alpha1.AnnotationUnjoin] = v1alpha1.UnjoinForce
	if err := w.hub.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]v1alpha1.LeavingStep{v1alpha1.LeavingDrains, v1alpha1.LeavingDone}, w.steps()); d != "" {
		t.Error(d)
	}
}

func TestWhatAMemberThatIsGivenUpKeepsIsNamed(t *testing.T) {
	w := newWorld(t, v1alpha1.UnjoinForce)
	w.member.Stop()
	var left []string
	for range 10 {
		c := w.look()
		if c == nil {
			break
		}
		left = c.Status.Leaving.Left
		w.help()
		w.now = w.now.Add(4 * time.Second)
	}
	if w.cluster() != nil {
		t.Fatal("it is still there")
	}
	all := strings.Join(left, "\n")
	for _, want := range []string{"Deployment shop/web, a copy of FederatedDeployment", "Service shop/web, a copy", "service demo/echo: VirtualService and DestinationRule weir-echo", "weir-fence.demo.mine", "istio.io/draining"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not named in\n%s", want, all)
		}
	}
	var works v1alpha1.WorkList
	if err := w.hub.List(t.Context(), &works); err != nil || len(works.Items) != 2 {
		t.Errorf("records go when nobody is registered under the name any more, by who keeps them: %v, %d", err, len(works.Items))
	}
	if got := <-w.recorder.Events; !strings.HasPrefix(got, "Warning Left c2 is let go, and weir's own stays there, 5 in all: Deployment shop/web") {
		t.Errorf("event %q", got)
	}
}

func TestRightsThatTheHubHasNoMoreAreSaid(t *testing.T) {
	w := newWorld(t, v1alpha1.UnjoinClean)
	w.member.Fail(func(fleettest.Request) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "y", fmt.Errorf("no binding"))
	})
	w.look()
	w.help()
	c := w.look()
	if l := c.Status.Leaving; l.Step != v1alpha1.LeavingRoutes || !strings.Contains(l.Waiting[0], "install its agent's release again") {
		t.Errorf("got %+v", l)
	}
}

func TestAClusterThatIsDeletedWithoutUnjoinOrNotAtAllIsLeftAlone(t *testing.T) {
	stays := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c2", Finalizers: []string{v1alpha1.FinalizerUnjoin}}}
	other := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c2", Finalizers: []string{"example.com/x"}, DeletionTimestamp: &metav1.Time{Time: time.Now()}}}
	for name, c := range map[string]*v1alpha1.Cluster{"marked and not deleted": stays, "held by somebody else": other} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.UnjoinClean)
			w.hub = fleettest.Hub(t, interceptor.Funcs{}, c)
			if got := w.look(); got == nil || got.Status.Leaving != nil || w.writes > 0 {
				t.Errorf("got %+v after %d writes", got, w.writes)
			}
		})
	}
}
