// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sched

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-io/weir/sched/filter"
	"github.com/weir-io/weir/sched/fit"
)

func TestABatchGivesNoPlaceTwice(t *testing.T) {
	b := newBatch(t, view("c1", free(1, 1000)), view("c2", free(1, 1000)))
	for _, want := range []string{"c1:1 c2:1 left:0", "c1:1 c2:1 left:0", "left:2 c1/BelowMinimum c1/NoRoom c2/BelowMinimum c2/NoRoom"} {
		r := request(2)
		r.Workload = want + fmt.Sprint(len(b.owned))
		if got := placed(b.Decide(&r)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestReplicasThatWaitForANodeHoldTheirRoom(t *testing.T) {
	b := newBatch(t, view("c1", free(1, 1500)))
	r, other := request(2), request(2)
	r.Current = map[string]Placement{"c1": {Replicas: 2, Waiting: 1}}
	other.Workload = "shop/other"
	if got := placed(b.Decide(&r)); got != "c1:2 left:0" {
		t.Error(got)
	}
	if got := b.Reservations(); len(got) != 1 || got[0].Replicas != 1 {
		t.Errorf("one of two waits: %+v", got)
	}
	if got := placed(b.Decide(&other)); got != "c1:2 left:0" {
		t.Errorf("two places are left, and %s", got)
	}
}

func TestDecidingAgainHoldsRoomOnce(t *testing.T) {
	b := newBatch(t, view("c1", free(1, 1000)))
	r := request(2)
	for range 3 {
		if got := placed(b.Decide(&r)); got != "c1:2 left:0" {
			t.Error(got)
		}
	}
	r.Replicas = 1
	b.Decide(&r)
	other := request(1)
	other.Workload = "shop/other"
	if got := placed(b.Decide(&other)); got != "c1:1 left:0" {
		t.Errorf("after the first went down to one: %s", got)
	}
	if got := b.Holds("shop/other"); !slices.Equal(got, []string{"c1"}) {
		t.Error(got)
	}
}

func TestWhatAFailedDecisionHeldIsGivenBack(t *testing.T) {
	b := newBatch(t, view("c1", free(1, 1000)))
	r, other := request(2), request(2)
	other.Workload = "shop/other"
	b.Decide(&r)
	b.Release(r.Workload)
	if got := placed(b.Decide(&other)); got != "c1:2 left:0" {
		t.Error(got)
	}
	if b.Release("nobody"); len(b.Holds(r.Workload)) != 0 {
		t.Error("a workload holds what was given back")
	}
}

// The same requests get the same answers in one batch and in two, when the second is begun with what the first reserved.
func TestReservationsCarryABatchOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fleet, err := NewFleet(fleets(t))
		if err != nil {
			t.Fatal(err)
		}
		one, before := NewBatch(fleet, nil), NewBatch(fleet, nil)
		for i := range rapid.IntRange(0, 3).Draw(t, "before") {
			r := wishes(t, fmt.Sprintf("before/%d", i))
			one.Decide(&r)
			before.Decide(&r)
		}
		after := NewBatch(fleet, before.Reservations())
		if diff := cmp.Diff(one.Reservations(), after.Reservations()); diff != "" {
			t.Fatal(diff)
		}
		r := wishes(t, "shop/web")
		if diff := cmp.Diff(one.Decide(&r), after.Decide(&r)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestAReservationForAClusterThatIsGoneIsPassedOver(t *testing.T) {
	fleet, err := NewFleet([]ClusterView{view("c1")})
	if err != nil {
		t.Fatal(err)
	}
	pod := fit.Pod{Need: amounts{"cpu": 1}}
	b := NewBatch(fleet, []Reservation{{"a", "c9", pod, 1}, {"b", "c1", pod, 0}, {"c", "c1", pod, 2}})
	if got := b.Reservations(); len(got) != 1 || got[0].Workload != "c" {
		t.Errorf("%+v", got)
	}
}

func TestADecisionIsWrittenOnlyOnAViewThatBearsIt(t *testing.T) {
	gpu := func(r *Request) { r.Pod.Need = amounts{"cpu": 500, "nvidia.com/gpu": 1} }
	withGPU := func(v *ClusterView) { v.Nodes[0].Free["nvidia.com/gpu"] = 8 }
	version := func(n int64) func(*ClusterView) { return func(v *ClusterView) { v.Version = n } }
	for name, c := range map[string]struct {
		request Request
		then    []func(*ClusterView)
		now     []func(*ClusterView)
		remedy  Remedy
		message string
	}{
		"nothing moved":                 {request(2), nil, nil, 0, ""},
		"moved, and it fits":            {request(2), nil, []func(*ClusterView){version(30), free(1, 1000)}, 0, ""},
		"moved, and it does not fit":    {request(2), nil, []func(*ClusterView){version(8), free(1, 500)}, PlanAgain, "there is no longer room for 2 more"},
		"nothing new, and nothing fits": {request(2, stands("c1", 2)), nil, []func(*ClusterView){version(8), free(0, 0)}, 0, ""},
		"an accelerator, unmoved":       {request(2, gpu), []func(*ClusterView){withGPU}, []func(*ClusterView){withGPU}, 0, ""},
		"an accelerator, moved":         {request(2, gpu), []func(*ClusterView){withGPU}, []func(*ClusterView){withGPU, version(8)}, PlanAgain, "accelerators, ports or nodes have changed since the decision"},
		"only cores moved": {
			request(2, gpu),
			[]func(*ClusterView){withGPU, func(v *ClusterView) { v.ExactVersion = 5 }},
			[]func(*ClusterView){withGPU, version(8), func(v *ClusterView) { v.ExactVersion = 5 }},
			0, "",
		},
		"far behind its member": {request(2), nil, []func(*ClusterView){func(v *ClusterView) { v.Announced = 18 }}, Refresh, "the view is 11 versions behind its member"},
		"a little behind":       {request(2), nil, []func(*ClusterView){func(v *ClusterView) { v.Announced = 17 }}, 0, ""},
		"dead by now":           {request(2), nil, []func(*ClusterView){health(filter.Dead)}, PlanAgain, "the cluster is dead: it keeps its replicas and gets none"},
		"gone":                  {request(2), nil, []func(*ClusterView){func(v *ClusterView) { v.Cluster = "c9" }}, PlanAgain, "the cluster is no longer registered"},
		"new ones beside one that waits": {
			request(2, func(r *Request) { r.Current = map[string]Placement{"c1": {Replicas: 1, Waiting: 1}} }), nil,
			[]func(*ClusterView){free(1, 500)},
			PlanAgain, "there is no longer room for 1 more",
		},
		"no two on a node": {
			request(2, stands("c1", 1), func(r *Request) { r.Pod.Apart = true }),
			[]func(*ClusterView){func(v *ClusterView) { v.ExactVersion = 1 }},
			[]func(*ClusterView){free(1, 1000), func(v *ClusterView) { v.ExactVersion = 1 }},
			PlanAgain, "there is no longer room for 1 more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.request
			d := decide(t, r, view("c1", c.then...))
			newest := newBatch(t, view("c1", c.now...))
			objections := Recheck(newest, &r, &d)
			if c.message == "" && len(objections) == 0 {
				return
			}
			if len(objections) != 1 || objections[0] != (Objection{"c1", c.remedy, c.message}) {
				t.Errorf("%+v", objections)
			}
		})
	}
}

func TestARecheckCountsWhatIsReservedForOthersAndNotWhatIsOwn(t *testing.T) {
	r, other := request(2), request(1)
	other.Workload = "shop/other"
	b := newBatch(t, view("c1", free(1, 1500)))
	d := b.Decide(&r)
	if objections := Recheck(b, &r, &d); len(objections) != 0 {
		t.Errorf("%+v", objections)
	}
	b.Decide(&other)
	if objections := Recheck(b, &r, &d); len(objections) != 0 {
		t.Errorf("beside another: %+v", objections)
	}
	fleet, err := NewFleet([]ClusterView{view("c1", free(1, 1000))})
	if err != nil {
		t.Fatal(err)
	}
	if objections := Recheck(NewBatch(fleet, b.Reservations()), &r, &d); len(objections) != 1 {
		t.Errorf("in a smaller room: %+v", objections)
	}
}

// What was just decided may be written, as long as nothing moves.
func TestAFreshDecisionMeetsNoObjection(t *testing.T) {
	decisions(t, func(t *rapid.T, views []ClusterView, r Request, d Decision) {
		fleet, err := NewFleet(views)
		if err != nil {
			t.Fatal(err)
		}
		if objections := Recheck(NewBatch(fleet, nil), &r, &d); len(objections) != 0 {
			t.Fatalf("%s: %+v", placed(d), objections)
		}
	})
}

func TestOneFleetServesManyBatchesAtOnce(t *testing.T) {
	fleet, err := NewFleet(thousand()[:50])
	if err != nil {
		t.Fatal(err)
	}
	decideAll := func() []Decision {
		b := NewBatch(fleet, nil)
		var out []Decision
		for i := range 30 {
			r := request(int64(40*i), region(fmt.Sprintf("region-%d", i%5)))
			r.Workload = fmt.Sprint(i)
			r.Pod.Apart = i%7 == 0
			out = append(out, b.Decide(&r))
		}
		return out
	}
	want := decideAll()
	got := make([][]Decision, 4)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() { got[i] = decideAll() })
	}
	all.Wait()
	for _, decisions := range got {
		if diff := cmp.Diff(want, decisions); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestABatchAsksForEachKindWhoServesIt(t *testing.T) {
	shared := []string{"apps/v1/Deployment", "v1/Pod"}
	serving := func(apis []string) func(*ClusterView) { return func(v *ClusterView) { v.Serves = apis } }
	b := newBatch(t, view("c1", serving(shared)), view("c2", serving(shared)), view("c3", serving(shared[1:])), view("c4"))
	for _, c := range []struct{ kind, want string }{
		{"apps/v1/Deployment", "true true false true"},
		{"v1/Pod", "true true true true"},
		{"batch/v1/Job", "false false false true"},
		{"", "true true true true"},
		{"apps/v1/Deployment", "true true false true"},
	} {
		if got := strings.Trim(fmt.Sprint(b.serves(c.kind)), "[]"); got != c.want {
			t.Errorf("%q: %s, want %s", c.kind, got, c.want)
		}
	}
}
