// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
)

const clusterPath = "/apis/federation.weir.io/v1alpha1/clusters/c2"

// leaver is a member that was drained to its end.
func leaver(change func(*v1alpha1.Cluster)) (*v1alpha1.Cluster, *v1alpha1.ClusterDrain) {
	c := clusterObject("c2")
	c.UID = "c2"
	c.Status.Agent = &v1alpha1.AgentStatus{Version: "v1"}
	c.Status.Conditions = conditionsOf("Ready True Joined weir sees it")
	change(c)
	return c, drainObject("c2", func(d *v1alpha1.ClusterDrain) { finished(&d.Status) })
}

func asItIs(*v1alpha1.Cluster) {}

func (s *shell) leaver() *v1alpha1.Cluster {
	s.Helper()
	var c v1alpha1.Cluster
	if err := s.hub.Store.Get(s.Context(), client.ObjectKey{Name: "c2"}, &c); client.IgnoreNotFound(err) != nil {
		s.Fatal(err)
	}
	return &c
}

// lets plays the controller: each look at a Cluster that goes finds it one state further, and after the last it is gone.
func (s *shell) lets(states ...v1alpha1.LeavingStatus) {
	s.hub.Fail(func(r fleettest.Request) error {
		if r.Method != http.MethodGet || r.Path != clusterPath {
			return nil
		}
		c := s.leaver()
		if c.DeletionTimestamp.IsZero() {
			return nil
		}
		if len(states) == 0 {
			c.Finalizers = nil
			return client.IgnoreNotFound(s.hub.Store.Update(s.Context(), c))
		}
		c.Status.Leaving = &states[0]
		states = states[1:]
		return s.hub.Store.Status().Update(s.Context(), c)
	})
}

func (s *shell) leaves(change func(*v1alpha1.Cluster)) *shell {
	c, d := leaver(change)
	s.put(c)
	s.put(d)
	return s
}

var done = v1alpha1.LeavingStatus{Step: v1alpha1.LeavingDone}

func TestAnUnjoinIsFollowedToItsEnd(t *testing.T) {
	s := newShell(t).leaves(asItIs)
	s.lets(v1alpha1.LeavingStatus{Step: v1alpha1.LeavingCopies, Waiting: []string{"the copy of service shop/web goes"}}, done)
	r := s.run("unjoin", "c2")
	r.want(t, 0, "cluster c2 is gone from the hub", "next: in the member, remove its agent: helm uninstall weir-agent -n weir-system", "istio-remote-secret-c2", "kubectl delete namespace weir-member-c2")
	if d := cmp.Diff("c2 copies; the copy of service shop/web goes\nc2 done\n", r.progress); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"PATCH " + clusterPath, "DELETE " + clusterPath}, r.hubWrote); d != "" {
		t.Error(d)
	}
}

func TestAnUnjoinOfAClusterThatIsHeldChangesNothingAndNamesWhatHoldsIt(t *testing.T) {
	s := newShell(t).with(atRest())
	r := s.run("unjoin", "c2", "-o", "json")
	r.want(t, 1, "stays as it is")
	var got unjoined
	dec := json.NewDecoder(strings.NewReader(r.out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil || dec.More() {
		t.Fatalf("%v in\n%s", err, r.out)
	}
	var codes []string
	for _, h := range got.Holds {
		codes = append(codes, h.Code+" "+h.Subject)
	}
	if d := cmp.Diff([]string{"NotDrained c2", "TrafficRemains demo/echo", "PodsRemain demo/echo"}, codes); d != "" || got.Unjoined {
		t.Error(d)
	}
	if len(r.hubWrote) > 0 {
		t.Errorf("wrote %v", r.hubWrote)
	}
	s.run("unjoin", "c2").want(t, 1, "cluster c2 is held, and nothing was changed:", "NotDrained c2: it is in service: kubectl weir drain c2")
	s.run("unjoin", "c9").want(t, 1, `there is no cluster "c9" on this hub`)
}

func TestReplicasOfAFederatedWorkloadHoldAMember(t *testing.T) {
	b := &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "deployment-api"}}
	b.Spec.Resource = v1alpha1.ResourceReference{Kind: "Deployment", Namespace: "shop", Name: "api"}
	b.Spec.Plan = []v1alpha1.ClusterReplicas{{Name: "c2", Replicas: 1}}
	s := newShell(t, b).leaves(asItIs)
	r := s.run("unjoin", "c2")
	r.want(t, 1, "ReplicasRemain shop/api", "kubectl weir explain fdep shop/api")
	if len(r.hubWrote) > 0 {
		t.Errorf("wrote %v", r.hubWrote)
	}
}

func TestAnUnjoinThatWasKilledHalfWayGoesOnWhenItIsRunAgain(t *testing.T) {
	s := newShell(t).leaves(asItIs)
	s.hub.Fail(func(r fleettest.Request) error {
		if r.Method == http.MethodDelete {
			return errors.New("the line is cut")
		}
		return nil
	})
	s.run("unjoin", "c2").want(t, 1, "nothing was taken away; try again")
	if c := s.leaver(); !slices.Contains(c.Finalizers, v1alpha1.FinalizerUnjoin) || !c.DeletionTimestamp.IsZero() {
		t.Fatalf("got %+v", c.ObjectMeta)
	}
	s.hub.Fail(nil)
	r := s.run("unjoin", "c2", "--wait=false")
	r.want(t, 0, "cluster c2 is on its way out")
	if d := cmp.Diff([]string{"DELETE " + clusterPath}, r.hubWrote); d != "" {
		t.Error(d)
	}
	s.lets(done)
	r = s.run("unjoin", "c2")
	r.want(t, 0, "is gone from the hub")
	if len(r.hubWrote) > 0 {
		t.Errorf("the wish stood, and it wrote %v", r.hubWrote)
	}
}

func TestAMemberThatIsHeardIsNotGivenUp(t *testing.T) {
	s := newShell(t).leaves(asItIs)
	r := s.run("unjoin", "c2", "--force")
	r.want(t, 1, "StillHeard", "leave --force out")
	if len(r.hubWrote) > 0 {
		t.Errorf("wrote %v", r.hubWrote)
	}
}

func TestWhatAMemberKeepsThatIsGivenUpIsToldInBothForms(t *testing.T) {
	lost := func(c *v1alpha1.Cluster) { c.Status.Conditions = conditionsOf("Ready Unknown ContactLost -") }
	left := v1alpha1.LeavingStatus{Step: v1alpha1.LeavingDone, Left: []string{"Deployment shop/web, a copy of FederatedDeployment"}, LeftCount: 3}
	s := newShell(t).leaves(lost)
	s.lets(left)
	s.run("unjoin", "c2").want(t, 1, "NotHeard c2: it is not heard (ContactLost)", "kubectl weir unjoin c2 --force")
	s.run("unjoin", "c2", "--force").want(t, 0, "left in the member: Deployment shop/web, a copy", "and 2 more", "should the member ever come back")
	s = newShell(t).leaves(lost)
	s.lets(left)
	r := s.run("unjoin", "c2", "--force", "-o", "json")
	r.want(t, 0)
	var got unjoined
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatalf("%v in\n%s", err, r.out)
	}
	if !got.Unjoined || !got.Forced || got.LeftCount != 3 || len(got.Left) != 1 || got.Step != "Done" || len(got.Next) != 6 {
		t.Errorf("got %+v", got)
	}
}

func TestAnUnjoinUnderWayIsTurnedIntoOneByForce(t *testing.T) {
	going := func(c *v1alpha1.Cluster) {
		c.Finalizers, c.DeletionTimestamp = []string{v1alpha1.FinalizerUnjoin}, &metav1.Time{Time: time.Now().Add(-time.Minute)}
		c.Annotations = map[string]string{v1alpha1.AnnotationUnjoin: v1alpha1.UnjoinClean}
	}
	c, d := leaver(going)
	s := newShell(t, c, d)
	r := s.run("unjoin", "c2", "--force", "--timeout", "700ms")
	r.want(t, ExitWaiting, "not done within 700ms; weir goes on", "is on its way out")
	if d := cmp.Diff([]string{"PATCH " + clusterPath}, r.hubWrote); d != "" {
		t.Error(d)
	}
	if got := s.leaver().Annotations[v1alpha1.AnnotationUnjoin]; got != v1alpha1.UnjoinForce {
		t.Errorf("it is asked to go by %q", got)
	}
	if !strings.Contains(r.progress, "the hub has not begun") {
		t.Errorf("a hub that says nothing for a minute: %q", r.progress)
	}
	r = s.run("unjoin", "c2", "--wait=false", "-o", "json")
	if r.want(t, 0, `"forced": true`); len(r.hubWrote) > 0 {
		t.Errorf("what was given up is not taken back: %v", r.hubWrote)
	}
}

func TestAClusterThatIsDeletedOtherwiseIsNotFollowed(t *testing.T) {
	c, _ := leaver(func(c *v1alpha1.Cluster) {
		c.Finalizers, c.DeletionTimestamp = []string{"example.com/x"}, &metav1.Time{Time: time.Now()}
	})
	r := newShell(t, c).run("unjoin", "c2")
	r.want(t, 1, "is being deleted, and not by unjoin")
	if len(r.hubWrote) > 0 {
		t.Errorf("wrote %v", r.hubWrote)
	}
}

func TestNobodyJoinsUnderTheNameOfAMemberThatIsOnItsWayOut(t *testing.T) {
	j := newJoins(t)
	j.join().want(t, 0)
	var c v1alpha1.Cluster
	if err := j.hub.Store.Get(t.Context(), client.ObjectKey{Name: "c2"}, &c); err != nil {
		t.Fatal(err)
	}
	c.Finalizers = []string{v1alpha1.FinalizerUnjoin}
	if err := j.hub.Store.Update(t.Context(), &c); err != nil {
		t.Fatal(err)
	}
	if err := j.hub.Store.Delete(t.Context(), &c); err != nil {
		t.Fatal(err)
	}
	j.member.Requests()
	r := j.join()
	r.want(t, 1, `cluster "c2" is on its way out`, "kubectl weir unjoin c2 waits")
	if writes := append(r.hubWrote, j.member.Writes()...); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
}
