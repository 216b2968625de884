// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servicedns

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/dns/zone"
)

func TestAServiceIsAnsweredUnderItsNamesWithTheMembersThatHaveIt(t *testing.T) {
	w := newWorld(t, append(three(), serviceOf("echo", &v1alpha1.NameWishes{Hostname: "Shop.global.example.com.", TTL: "10s"}, "c1", "c2", "c3"))...)
	w.settle()
	for _, name := range []string{own, "shop.global.example.com"} {
		if got := joined(w.answers(name)); got != "c1 c2 c3" {
			t.Errorf("%s: %s", name, got)
		}
	}
	a := w.server.table.Lookup(zone.Question{Name: own + ".", Type: zone.TypeAAAA})
	if a.TTL != 10 || len(a.Addresses) != 1 || a.Addresses[0] != addr("2001:db8::2") {
		t.Errorf("got %+v", a)
	}
	gs := w.get("echo")
	if diff := cmp.Diff([]string{own, "shop.global.example.com"}, gs.Status.Names.Hosts); diff != "" || gs.Status.Names.TTLSeconds != 10 {
		t.Errorf("%+v: %s", gs.Status.Names, diff)
	}
	if reason, message := w.resolvable("echo"); reason != "Answered" || message != "" {
		t.Errorf("%s: %s", reason, message)
	}
	sets := w.server.sets
	if w.pass(time.Hour); w.server.sets != sets {
		t.Error("nothing changed, and there is another table")
	}
}

func TestAMemberIsOnRecordBeforeTheFirstAnswerNamesIt(t *testing.T) {
	w := newWorld(t, append(three(), serviceOf("echo", nil, "c1", "c2"), serviceOf("stuck", nil, "c1"))...)
	w.refuse = func(name string) bool { return name == "stuck" }
	for range 3 {
		for _, name := range []string{"echo", "stuck"} {
			for _, cluster := range []string{"c1", "c2"} {
				if slices.Contains(w.answersOf(name), cluster) && w.standing(name, cluster) != "Named" {
					t.Errorf("%s is answered with %s, which is on record as %q", name, cluster, w.standing(name, cluster))
				}
			}
		}
		if _, err := w.look(); err == nil {
			t.Error("a status that could not be written was passed over")
		}
	}
	if got := joined(w.answersOf("echo")); got != "c1 c2" {
		t.Errorf("a service whose status can not be written holds up another: %q", got)
	}
	w.refuse = nil
	if w.settle(); joined(w.answersOf("stuck")) != "c1" {
		t.Error("it is not answered now")
	}
}

// answersOf is answers under the service's own name.
func (w *world) answersOf(name string) []string {
	w.Helper()
	return w.answers(name + ".demo.global.example.com")
}

func TestAMemberThatIsWithdrawnIsExpiredWhenItsLastAnswerIs(t *testing.T) {
	w := newWorld(t, append(three(), serviceOf("echo", nil, "c1", "c2"))...)
	w.settle()
	w.now = w.now.Add(time.Minute)
	if !w.server.ask(own, "c2") {
		t.Fatal("c2 is not answered")
	}
	w.plan("echo", "c2", v1alpha1.DNSWithdrawn)
	w.pass(0)
	if got := joined(w.answers(own)); got != "c1" {
		t.Errorf("answered with %s", got)
	}
	row := rowOf(w.get("echo"), "c2")
	if row.Standing != v1alpha1.StandingCached || row.OutSerial != int64(w.server.table.Serial()) || !row.OutSince.Time.Equal(w.now) || !row.CachedUntil.Time.Equal(w.now.Add(8*time.Second)) {
		t.Errorf("got %+v", row)
	}
	w.pass(7 * time.Second)
	if got := w.standing("echo", "c2"); got != "Cached" {
		t.Errorf("after 7 s it is %s", got)
	}
	w.pass(time.Second)
	if row := rowOf(w.get("echo"), "c2"); row.Standing != v1alpha1.StandingExpired || row.CachedUntil != nil {
		t.Errorf("after 8 s: %+v", row)
	}
	w.plan("echo", "c2", v1alpha1.DNSNamed)
	w.pass(time.Second)
	if row := rowOf(w.get("echo"), "c2"); row.Standing != v1alpha1.StandingNamed || row.OutSerial != 0 || joined(w.answers(own)) != "c1 c2" {
		t.Errorf("named again: %+v", row)
	}
}

func TestItLooksAgainWhenAnAnswerHasOutlivedItsTime(t *testing.T) {
	w := newWorld(t, append(three(), serviceOf("echo", nil, "c1", "c2"))...)
	w.settle()
	w.server.ask(own, "c2")
	w.plan("echo", "c2", v1alpha1.DNSWithdrawn)
	got, err := w.look()
	if err != nil || got.RequeueAfter != 8*time.Second {
		t.Errorf("got %v, %v", got, err)
	}
	if w.pass(time.Minute); w.standing("echo", "c2") != "Expired" {
		t.Error("it is not expired")
	}
	if got, _ := w.look(); got.RequeueAfter != 0 {
		t.Errorf("at rest it looks again after %v", got.RequeueAfter)
	}
}

func TestAHubThatWasRestartedWaitsAsLongAsAnyAnswerOfBeforeMayBeCached(t *testing.T) {
	w := newWorld(t, append(three(), serviceOf("echo", &v1alpha1.NameWishes{TTL: "1m"}, "c1", "c2"))...)
	w.settle()
	w.now = w.now.Add(time.Minute)
	w.server.ask(own, "c2")
	w.plan("echo", "c2", v1alpha1.DNSWithdrawn)
	w.pass(0)
	before := rowOf(w.get("echo"), "c2")

	w.now = w.now.Add(2 * time.Second)
	w.restart()
	w.settle()
	after := rowOf(w.get("echo"), "c2")
	if after.OutSerial != before.OutSerial || !after.OutSince.Equal(before.OutSince) || after.Standing != v1alpha1.StandingCached {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	if got := w.server.table.Serial(); int64(got) <= before.OutSerial {
		t.Errorf("serial %d after %d", got, before.OutSerial)
	}
	if got := joined(w.answers(own)); got != "c1" {
		t.Errorf("answered with %s", got)
	}
	if w.pass(62 * time.Second); w.standing("echo", "c2") != "Cached" {
		t.Error("it did not wait for what the hub before it may have answered")
	}
	if w.pass(time.Second); w.standing("echo", "c2") != "Expired" {
		t.Errorf("it is %s", w.standing("echo", "c2"))
	}
}

func TestAnAnswerOfBeforeARestartIsWaitedForThoughItsMemberIsWithdrawnAfter(t *testing.T) {
	for name, wish := range map[string]*v1alpha1.NameWishes{"no wish": nil, "a wish that is not served": {Hostname: "?"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(three(), serviceOf("echo", wish, "c1", "c2", "c3"))...)
			w.settle()
			if !w.server.ask(own, "c3") {
				t.Fatal("c3 is not answered")
			}
			w.restart()
			for _, cluster := range []string{"c2", "c3"} {
				w.plan("echo", cluster, v1alpha1.DNSWithdrawn)
				w.pass(0)
			}
			if w.pass(4275 * time.Millisecond); w.standing("echo", "c3") != "Cached" {
				t.Errorf("a client holds it, and it is %s", w.standing("echo", "c3"))
			}
			if w.pass(3725 * time.Millisecond); w.standing("echo", "c3") != "Expired" {
				t.Errorf("after 8 s it is %s", w.standing("echo", "c3"))
			}
		})
	}
}

func TestAHubThatEndedBeforeItWroteDownAWithdrawalCountsFromWhenItFindsIt(t *testing.T) {
	w := newWorld(t, append(three(), serviceOf("echo", nil, "c1", "c2"))...)
	w.settle()
	w.refuse = func(string) bool { return true }
	w.plan("echo", "c2", v1alpha1.DNSWithdrawn)
	if _, err := w.look(); err == nil || joined(w.answers(own)) != "c1" {
		t.Fatalf("%v, answered with %v", err, w.answers(own))
	}
	w.refuse = nil
	w.now = w.now.Add(time.Minute)
	w.restart()
	w.settle()
	if row := rowOf(w.get("echo"), "c2"); row.Standing != v1alpha1.StandingCached || !row.OutSince.Time.Equal(w.now) {
		t.Errorf("got %+v", row)
	}
	if w.pass(8 * time.Second); w.standing("echo", "c2") != "Expired" {
		t.Errorf("it is %s", w.standing("echo", "c2"))
	}
}

func TestASerialNeverFallsThoughTheClockDoes(t *testing.T) {
	w := newWorld(t, append(three(), serviceOf("echo", nil, "c1", "c2"))...)
	w.settle()
	w.plan("echo", "c2", v1alpha1.DNSWithdrawn)
	w.settle()
	before := w.server.table.Serial()
	w.now = w.now.Add(-48 * time.Hour)
	w.restart()
	w.settle()
	if got := w.server.table.Serial(); got <= before {
		t.Errorf("serial %d after %d", got, before)
	}
}

func TestWhatWasAnsweredUnderALongerTimeOrAnotherNameIsWaitedFor(t *testing.T) {
	for name, wish := range map[string]*v1alpha1.NameWishes{
		"shorter time": {Hostname: "shop.global.example.com", TTL: "1s"},
		"no such name": {TTL: "1m"},
		"another name": {Hostname: "store.global.example.com", TTL: "1m"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(three(), serviceOf("echo", &v1alpha1.NameWishes{Hostname: "shop.global.example.com", TTL: "1m"}, "c1", "c2"))...)
			w.settle()
			w.change("echo", func(gs *v1alpha1.GlobalService) { gs.Status.NameWishes = wish })
			w.pass(0)
			w.restart() // of what was answered nobody knows now but the record
			w.plan("echo", "c2", v1alpha1.DNSWithdrawn)
			w.pass(10 * time.Second)
			if w.pass(50 * time.Second); w.standing("echo", "c2") != "Cached" {
				t.Errorf("after a minute it is %s", w.standing("echo", "c2"))
			}
			if w.pass(3 * time.Second); w.standing("echo", "c2") != "Expired" || w.get("echo").Status.Names.HeldUntil != nil {
				t.Errorf("after that it is %s: %+v", w.standing("echo", "c2"), w.get("echo").Status.Names)
			}
		})
	}
}

func TestAMemberThatIsFencedOrWasDrainedToItsEndIsInNoAnswer(t *testing.T) {
	drain := &v1alpha1.ClusterDrain{ObjectMeta: metav1.ObjectMeta{Name: "c3"}}
	drain.Spec.ClusterName, drain.Spec.Desired = "c3", v1alpha1.OutOfService
	drain.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionDrained, Status: metav1.ConditionTrue, Reason: "Done", LastTransitionTime: metav1.NewTime(start)}}
	gs := serviceOf("echo", nil, "c1", "c2", "c3")
	gs.Spec.Clusters[1].NewPods = v1alpha1.PodsFenced
	w := newWorld(t, append(three(), gs, drain)...)
	w.settle()
	if got := joined(w.answers(own)); got != "c1" {
		t.Errorf("answered with %s", got)
	}
	if w.pass(time.Minute); w.standing("echo", "c2") != "Unused" || w.standing("echo", "c3") != "Unused" {
		t.Errorf("c2 is %s, c3 is %s", w.standing("echo", "c2"), w.standing("echo", "c3"))
	}
}

func TestAMemberThatComesBackIsNamedBeforeItsWeightRises(t *testing.T) {
	gs := serviceOf("echo", nil, "c1", "c2")
	gs.Spec.Clusters[0].Weight, gs.Spec.Clusters[1].Weight = 1000, 0
	w := newWorld(t, append(three(), gs)...)
	if w.settle(); w.standing("echo", "c2") != "Named" {
		t.Errorf("it is %s", w.standing("echo", "c2"))
	}
	w.change("echo", func(gs *v1alpha1.GlobalService) { gs.Status.Clusters[1].Ready = 0 })
	w.pass(0)
	if w.pass(time.Minute); w.standing("echo", "c2") != "Unused" || joined(w.answers(own)) != "c1" {
		t.Errorf("without a pod it is %s, answered %v", w.standing("echo", "c2"), w.answers(own))
	}
}

func TestAnswersAreDividedAsTheTrafficIs(t *testing.T) {
	gs := serviceOf("echo", nil, "c1", "c2", "c3")
	gs.Spec.Clusters[0].Weight, gs.Spec.Clusters[1].Weight, gs.Spec.Clusters[2].Weight = 700, 200, 100
	gs.Status.Clusters[2].Ready = 0 // a crash is the proxies' to absorb
	early := serviceOf("early", nil, "c1", "c2")
	early.Spec.Phase = v1alpha1.RulesDestinationRules
	early.Status.Clusters[0].Replicas, early.Status.Clusters[1].Replicas = 1, 4
	w := newWorld(t, append(three(), gs, early)...)
	w.settle()
	got := map[string]uint64{}
	for _, e := range w.server.table.Entries() {
		if e.Cluster != "" {
			got[strings.Split(e.Name, ".")[0]+"/"+e.Cluster] = e.Weight
		}
	}
	want := map[string]uint64{"echo/c1": 700, "echo/c2": 200, "echo/c3": 100, "early/c1": 1, "early/c2": 4}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAMemberThatIsExpiredStaysSoOverRestartsAndOtherWishes(t *testing.T) {
	w := newWorld(t, append(three(), serviceOf("echo", &v1alpha1.NameWishes{TTL: "1m"}, "c1", "c2"))...)
	w.settle()
	w.plan("echo", "c2", v1alpha1.DNSWithdrawn)
	w.pass(0)
	w.pass(time.Hour)
	w.restart()
	w.change("echo", func(gs *v1alpha1.GlobalService) { gs.Status.NameWishes = nil })
	if w.settle(); w.standing("echo", "c2") != "Expired" {
		t.Errorf("it is %s", w.standing("echo", "c2"))
	}
}
