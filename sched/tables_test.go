// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sched

import (
	"strings"
	"testing"

	"github.com/weir-io/weir/sched/filter"
	"github.com/weir-io/weir/sched/fit"
	"github.com/weir-io/weir/sched/match"
)

func named(names ...string) func(*Request) {
	return func(r *Request) {
		r.Where.Names = map[string]bool{}
		for _, n := range names {
			r.Where.Names[n] = true
		}
	}
}

func TestDecisionsAndTheirReasons(t *testing.T) {
	three := []ClusterView{view("c1"), view("c2"), view("c3")}
	second := func(changes ...func(*ClusterView)) []ClusterView {
		return []ClusterView{view("c1"), view("c2", changes...), view("c3")}
	}
	for name, c := range map[string]struct {
		request Request
		views   []ClusterView
		want    string
	}{
		"even":                     {request(9), three, "c1:3 c2:3 c3:3 left:0"},
		"named":                    {request(4, named("c1", "c2")), three, "c1:2 c2:2 left:0 c3/NotSelected"},
		"named and not registered": {request(4, named("c1", "c9")), three, "c1:4 left:0 c2/NotSelected c3/NotSelected c9/NoCluster"},
		"none registered":          {request(4), nil, "left:4 /NoCluster"},
		"none meant":               {request(4, region("moon")), three, "left:4 /NoCluster c1/NotSelected c2/NotSelected c3/NotSelected"},
		"not seen":                 {request(9), second(func(v *ClusterView) { v.Seen = false }), "c1:5 c3:4 left:0 c2/NoView"},
		"not seen, and stands":     {request(9, stands("c1", 3, "c2", 3, "c3", 3)), second(func(v *ClusterView) { v.Seen = false }), "c1:3 c2:3 c3:3 left:0 c2/NoView"},
		"seen nowhere":             {request(9, named("c1")), []ClusterView{view("c1", func(v *ClusterView) { v.Seen = false })}, "left:9 c1/NoView"},
		"seen long ago":            {request(9), second(func(v *ClusterView) { v.Confidence = 0 }), "c1:5 c3:4 left:0 c2/StaleView"},
		"drained":                  {request(9, stands("c1", 3, "c2", 3, "c3", 3)), second(func(v *ClusterView) { v.Duty = filter.Drained }), "c1:5 c3:4 left:0 c2/Drained"},
		"dead keeps":               {request(12, stands("c1", 3, "c2", 3, "c3", 3)), second(health(filter.Dead)), "c1:5 c2:3 c3:4 left:0 c2/Dead"},
		"dead gets none":           {request(9), second(health(filter.Dead)), "c1:5 c3:4 left:0 c2/Dead"},
		"partitioned keeps":        {request(6, stands("c1", 3, "c2", 3, "c3", 3)), second(health(filter.Partitioned)), "c1:2 c2:3 c3:1 left:0 c2/Partitioned"},
		"suspect keeps":            {request(9, stands("c1", 3, "c2", 3, "c3", 3)), second(health(filter.Suspect)), "c1:3 c2:3 c3:3 left:0 c2/Suspect"},
		"suspect shrinks last":     {request(6, stands("c1", 3, "c2", 3, "c3", 3)), second(health(filter.Suspect)), "c1:2 c2:3 c3:1 left:0 c2/Suspect"},
		"suspect gets half":        {request(10), second(health(filter.Suspect)), "c1:4 c2:2 c3:4 left:0 c2/Suspect"},
		"tainted":                  {request(9), second(taint(match.NoSchedule)), "c1:5 c3:4 left:0 c2/Tainted"},
		"tainted keeps":            {request(9, stands("c1", 3, "c2", 3, "c3", 3)), second(taint(match.NoSchedule)), "c1:3 c2:3 c3:3 left:0 c2/Tainted"},
		"evicted":                  {request(9, stands("c1", 3, "c2", 3, "c3", 3)), second(taint(match.NoExecute)), "c1:5 c3:4 left:0 c2/Evicted"},
		"softly tainted":           {request(10), second(taint(match.PreferNoSchedule)), "c1:4 c2:2 c3:4 left:0 c2/SoftTaint"},
		"pods found no node":       {request(9, stands("c1", 3, "c2", 3, "c3", 3), full("c2", 2)), three, "c1:4 c2:1 c3:4 left:0 c2/PlacementFailed"},
		"no pod found a node":      {request(9, full("c2", 0)), three, "c1:5 c3:4 left:0 c2/BelowMinimum c2/PlacementFailed"},
		"not served":               {request(9), second(func(v *ClusterView) { v.Serves = []string{"apps/v1beta2"} }), "c1:5 c3:4 left:0 c2/NotServed"},
		"free in sum, not in shapes": {
			request(9, func(r *Request) { r.Pod.Need = amounts{"cpu": 4000} }),
			second(free(10, 1000)), "c1:5 c3:4 left:0 c2/BelowMinimum c2/NoFittingShape",
		},
		"room for a few":                   {request(9), second(free(1, 1000)), "c1:4 c2:2 c3:3 left:0 c2/NoRoom"},
		"an accelerator":                   {request(2, func(r *Request) { r.Pod.Need["nvidia.com/gpu"] = 1 }), second(func(v *ClusterView) { v.Nodes[0].Free["nvidia.com/gpu"] = 1 }), "c2:2 left:0 c1/BelowMinimum c1/NoRoom c3/BelowMinimum c3/NoRoom"},
		"more than fits":                   {request(9), []ClusterView{view("c1", free(1, 1000)), view("c2", free(1, 500))}, "c1:2 c2:1 left:6 c1/NoRoom c2/NoRoom"},
		"a maximum":                        {request(9, func(r *Request) { r.Default.Max = 2 }), three, "c1:2 c2:2 c3:2 left:3 c1/AtMaximum c2/AtMaximum c3/AtMaximum"},
		"weight 0":                         {request(9, func(r *Request) { r.Default.Weight = 0 }), three, "c1:1 c2:1 c3:1 left:6 c1/NoWeight c2/NoWeight c3/NoWeight"},
		"minima":                           {request(2), three, "c1:1 c2:1 left:0 c3/BelowMinimum"},
		"no share":                         {request(2, func(r *Request) { r.Default.Min = 0 }), three, "c1:1 c2:1 left:0 c3/NoShare"},
		"weight 0 and minimum 0":           {request(2, bounds("c2", Bounds{Max: Unlimited})), []ClusterView{view("c1"), view("c2")}, "c1:2 left:0 c2/NoWeight"},
		"maximum 0":                        {request(2, bounds("c2", Bounds{Weight: 1})), []ClusterView{view("c1"), view("c2")}, "c1:2 left:0 c2/AtMaximum"},
		"no room and no minimum":           {request(2, bounds("c2", Bounds{Weight: 1, Max: 9})), []ClusterView{view("c1"), view("c2", free(1, 100))}, "c1:2 left:0 c2/NoRoom"},
		"pinned":                           {request(6, bounds("c2", Pinned(4))), []ClusterView{view("c1"), view("c2")}, "c1:2 c2:4 left:0"},
		"pinned comes first":               {request(4, bounds("c2", Pinned(4))), []ClusterView{view("c1"), view("c2")}, "c2:4 left:0 c1/BelowMinimum"},
		"weights":                          {request(10, bounds("c1", Bounds{Weight: 8, Min: 1, Max: 20}), bounds("c2", Bounds{Weight: 2, Min: 1, Max: 20})), []ClusterView{view("c1"), view("c2")}, "c1:8 c2:2 left:0"},
		"less needed there":                {request(9, func(r *Request) { r.Pods = map[string]fit.Pod{"c2": {Need: amounts{"cpu": 100}}} }), second(free(1, 300)), "c1:3 c2:3 c3:3 left:0"},
		"stood where nobody is registered": {request(3, stands("c9", 3)), three, "c1:1 c2:1 c3:1 left:0 c9/NoCluster"},
		"rebalanced":                       {request(9, stands("c1", 7, "c2", 1, "c3", 1), func(r *Request) { r.Rebalance = true }), three, "c1:3 c2:3 c3:3 left:0"},
		"no two on a node":                 {request(9, func(r *Request) { r.Pod.Apart = true }), second(free(2, 9000)), "c1:4 c2:2 c3:3 left:0 c2/NoRoom"},
		"an old view counts in part": {
			request(9), second(func(v *ClusterView) { v.Confidence, v.Nodes = 50, nodes(1, 2000) }), "c1:4 c2:2 c3:3 left:0 c2/OldView c2/NoRoom",
		},
		"nothing wanted": {request(0, stands("c1", 3)), three, "left:0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := placed(decide(t, c.request, c.views...)); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// One member shrinks: replicas that wait there for a node find one elsewhere, and those that run stay.
func TestReplicasThatWaitForANodeMoveToWhereTheyFit(t *testing.T) {
	full := view("c2", free(1, 0))
	r := request(9, stands("c1", 3, "c2", 3, "c3", 3))
	if got := placed(decide(t, r, view("c1"), full, view("c3"))); !strings.HasPrefix(got, "c1:3 c2:3 c3:3 ") {
		t.Errorf("all run, and %s", got)
	}
	r.Current["c2"] = Placement{Replicas: 3, Waiting: 2}
	if got := placed(decide(t, r, view("c1"), full, view("c3"))); got != "c1:4 c2:1 c3:4 left:0 c2/NoRoom" {
		t.Errorf("two wait, and %s", got)
	}
}

func TestMessagesNameAmountsAndTheWayOut(t *testing.T) {
	d := decide(t, request(9, func(r *Request) { r.Pod.Need = amounts{"cpu": 500} }), view("c1", free(10, 300)), view("c2", free(1, 1000)))
	for i, want := range []string{
		"it has 0 of its minimum of 1", "3 cpu is free in pieces of 300m at most; one replica needs 500m", "its nodes have room for 2 in all",
	} {
		if got := d.Reasons[i].Message; got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
}

func TestAFleetIsRefusedWhoseNamesDoNotServe(t *testing.T) {
	for want, views := range map[string][]ClusterView{
		"names no cluster":             {view("")},
		"cluster \"c1\" has two views": {view("c1"), view("c2"), view("c1")},
	} {
		if _, err := NewFleet(views); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestADecisionNamesTheViewsItCountedOn(t *testing.T) {
	d := decide(t, request(2, named("c1", "c2", "c3")), view("c1", func(v *ClusterView) { v.Version = 11 }), view("c2", free(0, 0)), view("c3", health(filter.Dead)))
	if len(d.Views) != 2 || d.Views[0] != (ViewVersion{"c1", 11}) || d.Views[1] != (ViewVersion{"c2", 7}) {
		t.Errorf("%+v", d.Views)
	}
	if d.Targets[0].View != 11 || d.Replicas("c1") != 2 || d.Replicas("c2") != 0 {
		t.Errorf("%+v", d.Targets)
	}
}
