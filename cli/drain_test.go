// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
)

// weir plays the drain's controller: each look at the drain finds it one state further; the last one stays.
func (s *shell) weir(states ...func(*v1alpha1.ClusterDrainStatus)) {
	s.hub.Fail(func(r fleettest.Request) error {
		if r.Method != http.MethodGet || !strings.Contains(r.Path, "/clusterdrains/") || len(states) == 0 {
			return nil
		}
		d := s.drain(strings.TrimPrefix(r.Path, "/apis/federation.weir.io/v1alpha1/clusterdrains/"))
		states[0](&d.Status)
		states = states[1:]
		if err := s.hub.Store.Status().Update(s.Context(), d); err != nil {
			s.Error(err)
		}
		return nil
	})
}

func (s *shell) drain(name string) *v1alpha1.ClusterDrain {
	s.Helper()
	var d v1alpha1.ClusterDrain
	if err := s.hub.Store.Get(s.Context(), client.ObjectKey{Name: name}, &d); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		s.Fatal(err)
	}
	return &d
}

func begun(st *v1alpha1.ClusterDrainStatus) {
	st.Goal, st.Progress = v1alpha1.GoalDrain, "0/1"
	st.Services = []v1alpha1.DrainedService{{Namespace: "demo", Name: "echo", Step: "Split", Blocked: []v1alpha1.Blocker{{Code: "WeightsUnproven", Message: "waiting for web.demo"}}}}
}

func finished(st *v1alpha1.ClusterDrainStatus) {
	yes := true
	st.Goal, st.Progress, st.SafeToPowerOff = v1alpha1.GoalDrain, "1/1", &yes
	st.Services = []v1alpha1.DrainedService{{Namespace: "demo", Name: "echo", Step: "Done", Headroom: "two replicas fewer"}}
	st.UnownedWorkloads = []string{"demo/Deployment/echo"}
	meta.SetStatusCondition(&st.Conditions, metav1.Condition{Type: "Drained", Status: "True", Reason: "SafeToPowerOff", Message: "c2 may be switched off"})
}

func refused(st *v1alpha1.ClusterDrainStatus) {
	meta.SetStatusCondition(&st.Conditions, metav1.Condition{Type: "Ready", Status: "False", Reason: "LastCopy", Message: "refused: no cluster but c2 can serve demo/echo"})
}

func TestADrainIsFollowedToItsEnd(t *testing.T) {
	s := newShell(t, clusterObject("c2"))
	s.weir(func(*v1alpha1.ClusterDrainStatus) {}, begun, finished)
	r := s.run("drain", "c2")
	r.want(t, 0, "safeToPowerOff: true", "unownedWorkload demo/Deployment/echo", "HeadroomLost demo/echo: two replicas fewer", "Drained=True (SafeToPowerOff) c2 may be switched off")
	want := "c2 waiting to begin\nc2 drain: 0/1; demo/echo waiting for web.demo\nnote: demo/echo two replicas fewer\nc2 drain: 1/1\n"
	if d := cmp.Diff(want, r.progress); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"POST /apis/federation.weir.io/v1alpha1/clusterdrains"}, r.hubWrote); d != "" {
		t.Error(d)
	}
}

func TestLostHeadroomIsNotedOnceAndNotCalledAWait(t *testing.T) {
	s := newShell(t, clusterObject("c2"))
	fencing := func(headroom string, waits ...v1alpha1.Blocker) func(*v1alpha1.ClusterDrainStatus) {
		return func(st *v1alpha1.ClusterDrainStatus) {
			st.Goal, st.Progress = v1alpha1.GoalDrain, "0/1"
			st.Services = []v1alpha1.DrainedService{{Namespace: "demo", Name: "echo", Step: "Fence", Headroom: headroom, Blocked: waits}}
		}
	}
	s.weir(fencing("one replica fewer; waiting for consent", v1alpha1.Blocker{Code: "HeadroomLost", Message: "one replica fewer; waiting for consent"}),
		fencing("one replica fewer"), fencing("two replicas fewer"), finished)
	r := s.run("drain", "c2")
	r.want(t, 0)
	want := "c2 drain: 0/1; demo/echo one replica fewer; waiting for consent\nnote: demo/echo one replica fewer\nc2 drain: 0/1; demo/echo Fence\nc2 drain: 1/1\n"
	if d := cmp.Diff(want, r.progress); d != "" {
		t.Error(d)
	}
}

func TestWhatTheUserAcceptsStandsInTheDrain(t *testing.T) {
	s := newShell(t, clusterObject("c2"))
	s.run("drain", "c2", "--wait=false", "--proxy-timeout", "2m", "--quiet-timeout", "1m", "--accept-headroom-loss", "--force").want(t, 0, "cluster c2, wanted OutOfService")
	want := v1alpha1.ClusterDrainSpec{
		ClusterName: "c2", Desired: v1alpha1.OutOfService, HeadroomLoss: v1alpha1.HeadroomAccept, LastCopy: v1alpha1.LastCopySkip,
		ProxyTimeout: &metav1.Duration{Duration: 2 * time.Minute}, QuietTimeout: &metav1.Duration{Duration: time.Minute},
	}
	if d := cmp.Diff(want, s.drain("c2").Spec); d != "" {
		t.Error(d)
	}
	s = newShell(t, clusterObject("c2"))
	s.run("drain", "c2", "--wait=false").want(t, 0)
	if d := cmp.Diff(v1alpha1.ClusterDrainSpec{ClusterName: "c2", Desired: v1alpha1.OutOfService}, s.drain("c2").Spec); d != "" {
		t.Errorf("nothing was accepted:\n%s", d)
	}
}

func TestADrainThatIsThereIsTurnedWhateverItsName(t *testing.T) {
	old := drainObject("c2", func(d *v1alpha1.ClusterDrain) {
		d.Name, d.Spec.Desired, d.Spec.LastCopy = "maintenance", v1alpha1.InService, v1alpha1.LastCopySkip
	})
	young := drainObject("c2", func(d *v1alpha1.ClusterDrain) { d.Name, d.CreationTimestamp = "a-later-one", metav1.NewTime(now) })
	old.CreationTimestamp = *at(time.Hour)
	s := newShell(t, clusterObject("c2"), old, young)
	r := s.run("drain", "c2", "--wait=false")
	r.want(t, 0)
	if d := s.drain("maintenance"); d.Spec.Desired != v1alpha1.OutOfService || d.Spec.LastCopy == v1alpha1.LastCopySkip || s.drain("c2") != nil {
		t.Errorf("got %+v, wrote %v", d.Spec, r.hubWrote)
	}
}

func TestWhatWasAcceptedForADrainAtWorkStandsAndIsTold(t *testing.T) {
	old := drainObject("c2", func(d *v1alpha1.ClusterDrain) {
		d.Spec.Desired, d.Status.Goal = v1alpha1.InService, v1alpha1.GoalAbort
		d.Spec.LastCopy, d.Spec.HeadroomLoss = v1alpha1.LastCopySkip, v1alpha1.HeadroomAccept
		d.Spec.ProxyTimeout, d.Spec.QuietTimeout = &metav1.Duration{Duration: time.Minute}, &metav1.Duration{Duration: time.Hour}
	})
	s := newShell(t, clusterObject("c2"), old)
	r := s.run("drain", "c2", "--wait=false", "--force")
	r.want(t, 0)
	if d := cmp.Diff("ClusterDrain \"c2\" is there already and keeps proxyTimeout 1m0s, quietTimeout 1h0m0s, headroomLoss Accept\n", r.progress); d != "" {
		t.Error(d)
	}
	if d := s.drain("c2"); d.Spec.Desired != v1alpha1.OutOfService || d.Spec.LastCopy != v1alpha1.LastCopySkip || d.Spec.ProxyTimeout == nil {
		t.Errorf("got %+v", d.Spec)
	}
}

func TestADrainThatRestsBeginsWithoutWhatWasAcceptedBefore(t *testing.T) {
	old := drainObject("c2", func(d *v1alpha1.ClusterDrain) {
		d.Spec.Desired, d.Spec.LastCopy, d.Spec.HeadroomLoss = v1alpha1.InService, v1alpha1.LastCopySkip, v1alpha1.HeadroomAccept
		d.Spec.ProxyTimeout = &metav1.Duration{Duration: time.Minute}
	})
	s := newShell(t, clusterObject("c2"), old)
	r := s.run("drain", "c2", "--wait=false", "--accept-headroom-loss")
	r.want(t, 0)
	want := v1alpha1.ClusterDrainSpec{ClusterName: "c2", Desired: v1alpha1.OutOfService, HeadroomLoss: v1alpha1.HeadroomAccept}
	if d := cmp.Diff(want, s.drain("c2").Spec); d != "" || r.progress != "" {
		t.Errorf("%s%s", d, r.progress)
	}
}

func TestARefusedDrainEndsWithOneAndSaysWhy(t *testing.T) {
	s := newShell(t, clusterObject("c2"))
	s.weir(refused)
	s.run("drain", "c2").want(t, 1, "refused: no cluster but c2 can serve demo/echo; the wish stands, and begins when it may: kubectl weir undrain c2 takes it back", "Ready=False (LastCopy)")
	if s.drain("c2") == nil {
		t.Error("the wish is gone: weir would not go on when it can")
	}
}

func TestADrainOfAClusterThatIsNotThereAsksForNothing(t *testing.T) {
	s := newShell(t, clusterObject("c2"))
	r := s.run("drain", "c3")
	r.want(t, 1, `there is no cluster "c3" on this hub`, "kubectl get clusters.federation.weir.io")
	if len(r.hubWrote) > 0 {
		t.Errorf("wrote %v", r.hubWrote)
	}
}

func TestOfAClusterThatIsNotDrainedAndOfNoneUndrainSaysWhichItIs(t *testing.T) {
	s := newShell(t, clusterObject("c2"))
	s.run("undrain", "c2").want(t, 1, `cluster "c2" is not drained`)
	s.run("undrain", "c3").want(t, 1, `there is no cluster "c3" on this hub`, "kubectl get clusters.federation.weir.io")
}

func TestALineOfProgressIsToldOnceInARow(t *testing.T) {
	var out strings.Builder
	told := &teller{out: &out}
	for _, line := range []string{"a", "a", "b", "a"} {
		told.say(line)
	}
	if out.String() != "a\nb\na\n" {
		t.Errorf("got %q", out.String())
	}
}

func TestADrainThatIsBeingGivenBackIsNotTurnedRound(t *testing.T) {
	going := drainObject("c2", func(d *v1alpha1.ClusterDrain) {
		d.DeletionTimestamp, d.Finalizers = at(time.Second), []string{"weir.io/undrain"}
	})
	s := newShell(t, clusterObject("c2"), going)
	r := s.run("drain", "c2")
	r.want(t, 1, "being given back", "wait until it is gone")
	if len(r.hubWrote) > 0 {
		t.Errorf("wrote %v", r.hubWrote)
	}
}

func TestTimeThatPassesEndsWithThreeAndLeavesWeirAtWork(t *testing.T) {
	s := newShell(t, clusterObject("c2"))
	s.weir(begun)
	s.run("drain", "c2", "--timeout", "1ms").want(t, ExitWaiting, "not done within 1ms", "kubectl weir status")
	if d := s.drain("c2"); d == nil || d.Spec.Desired != v1alpha1.OutOfService {
		t.Errorf("got %+v", d)
	}
}

func TestADrainThatVanishesWhileItIsFollowedIsSaid(t *testing.T) {
	s := newShell(t, clusterObject("c2"))
	s.hub.Fail(func(r fleettest.Request) error {
		if d := s.drain("c2"); d != nil && r.Method == http.MethodGet && strings.HasSuffix(r.Path, "/clusterdrains/c2") {
			if err := s.hub.Store.Delete(t.Context(), d); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	s.run("drain", "c2").want(t, 1, `ClusterDrain "c2" was deleted while it was waited for`)
}

func TestAnUndrainThatAnotherOneEndsIsDone(t *testing.T) {
	s := newShell(t, clusterObject("c2"))
	s.run("drain", "c2", "--wait=false").want(t, 0, "c2")
	s.hub.Fail(func(r fleettest.Request) error {
		if d := s.drain("c2"); d != nil && d.Spec.Desired == v1alpha1.InService && r.Method == http.MethodGet && strings.HasSuffix(r.Path, "/clusterdrains/c2") {
			return s.hub.Store.Delete(s.Context(), d)
		}
		return nil
	})
	r := s.run("undrain", "c2")
	r.want(t, 0, "cluster c2, wanted InService")
	if !strings.Contains(r.progress, `ClusterDrain "c2" has been ended by somebody else meanwhile`) {
		t.Errorf("it told %q", r.progress)
	}
}

func TestWhoWaitsIsToldThatSomebodyTurnedTheDrainRound(t *testing.T) {
	turn := func(s *shell, desired v1alpha1.DesiredService) {
		s.hub.Fail(func(r fleettest.Request) error {
			if d := s.drain("c2"); d != nil && r.Method == http.MethodGet && strings.HasSuffix(r.Path, "/clusterdrains/c2") {
				d.Spec.Desired = desired
				return s.hub.Store.Update(s.Context(), d)
			}
			return nil
		})
	}
	s := newShell(t, clusterObject("c2"))
	turn(s, v1alpha1.InService)
	s.run("drain", "c2").want(t, 1, `cluster "c2" is being given back`)
	turn(s, v1alpha1.OutOfService)
	s.run("undrain", "c2").want(t, 1, `cluster "c2" is being drained again`)
	if d := s.drain("c2"); d == nil || d.Spec.Desired != v1alpha1.OutOfService {
		t.Errorf("the wish to drain again is gone: %+v", d)
	}
}

func TestAnUndrainDeletesNoWishThatCameAfterIt(t *testing.T) {
	s := newShell(t, clusterObject("c2"), drainObject("c2", func(d *v1alpha1.ClusterDrain) { d.Spec.Desired = v1alpha1.InService }))
	s.hub.Fail(func(r fleettest.Request) error {
		if r.Method != http.MethodDelete {
			return nil
		}
		d := s.drain("c2")
		d.Spec.Desired = v1alpha1.OutOfService
		return s.hub.Store.Update(s.Context(), d)
	})
	s.run("undrain", "c2").want(t, 1, `cluster "c2" is being drained again`)
	if d := s.drain("c2"); d == nil || !d.DeletionTimestamp.IsZero() {
		t.Errorf("the wish to drain again is gone: %+v", d)
	}
}

func TestAHubThatDoesNotAnswerForAWhileIsWaitedFor(t *testing.T) {
	s := newShell(t, clusterObject("c2"))
	s.weir(finished)
	play, looks := s.hub, 0
	states := []func(*v1alpha1.ClusterDrainStatus){finished}
	play.Fail(func(r fleettest.Request) error {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.Path, "/clusterdrains/c2") {
			return nil
		}
		if looks++; looks == 1 {
			return apierrors.NewServiceUnavailable("starting")
		}
		d := s.drain("c2")
		states[0](&d.Status)
		return s.hub.Store.Status().Update(t.Context(), d)
	})
	r := s.run("drain", "c2")
	r.want(t, 0, "safeToPowerOff: true")
	if looks < 2 || !strings.Contains(r.progress, `the hub is asked again: read ClusterDrain "c2"`) {
		t.Errorf("it looked %d times and said %q", looks, r.progress)
	}
}

func TestJSONIsOneDocumentAndProgressIsElsewhere(t *testing.T) {
	s := newShell(t, clusterObject("c2"))
	s.weir(begun, finished)
	r := s.run("drain", "c2", "-o", "json")
	r.want(t, 0)
	var d v1alpha1.ClusterDrain
	dec := json.NewDecoder(strings.NewReader(r.out))
	if err := dec.Decode(&d); err != nil || dec.More() {
		t.Fatalf("%v in\n%s", err, r.out)
	}
	if d.Kind != "ClusterDrain" || d.APIVersion != "federation.weir.io/v1alpha1" || d.Status.SafeToPowerOff == nil || !*d.Status.SafeToPowerOff {
		t.Errorf("got %+v", d)
	}
	if !strings.Contains(r.progress, "0/1") {
		t.Errorf("progress %q", r.progress)
	}
}

func TestAnUndrainIsFollowedAndItsDrainDeleted(t *testing.T) {
	s := newShell(t, clusterObject("c2"), drainObject("c2", func(d *v1alpha1.ClusterDrain) { finished(&d.Status) }))
	s.weir(
		func(st *v1alpha1.ClusterDrainStatus) { st.Goal, st.Progress = v1alpha1.GoalUndrain, "0/1" },
		func(st *v1alpha1.ClusterDrainStatus) { *st = v1alpha1.ClusterDrainStatus{} },
	)
	r := s.run("undrain", "c2")
	r.want(t, 0, "cluster c2, wanted InService")
	if s.drain("c2") != nil {
		t.Error("the ClusterDrain is still there")
	}
	if !strings.Contains(r.progress, "c2 undrain: 0/1") {
		t.Errorf("progress %q", r.progress)
	}
}

func TestAnUndrainThatIsNotWaitedForLeavesTheDrainTurnedRound(t *testing.T) {
	s := newShell(t, clusterObject("c2"), drainObject("c2", func(d *v1alpha1.ClusterDrain) { begun(&d.Status) }))
	s.run("undrain", "c2", "--wait=false").want(t, 0)
	if d := s.drain("c2"); d == nil || d.Spec.Desired != v1alpha1.InService {
		t.Errorf("got %+v", d)
	}
	s.run("undrain", "c2", "--timeout", "1ms").want(t, ExitWaiting, "not done within 1ms")
	if s.drain("c2") == nil {
		t.Error("it was deleted before traffic was back")
	}
}

func TestAClusterThatIsNotDrainedCannotBeUndrained(t *testing.T) {
	s := newShell(t, clusterObject("c2"))
	r := s.run("undrain", "c2")
	r.want(t, 1, `cluster "c2" is not drained`)
	if len(r.hubWrote) > 0 {
		t.Errorf("wrote %v", r.hubWrote)
	}
}

func TestAClusterThatIsBackIsNotCalledWaiting(t *testing.T) {
	back := drainObject("c2", func(d *v1alpha1.ClusterDrain) { d.Spec.Desired = v1alpha1.InService })
	if got := progressLine(back); got != "c2 in service" {
		t.Errorf("got %q", got)
	}
	p := &picture{Drains: []v1alpha1.ClusterDrain{*back}}
	if drain, _ := p.drainOf("c2"); drain != "-" {
		t.Errorf("status shows %q", drain)
	}
}
