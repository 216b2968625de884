// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/weir-io/weir/sched/dimension"
	"github.com/weir-io/weir/sched/match"
)

type amounts = dimension.Amounts

const gi = 1 << 30

func TestFitIsCountedOnShapesAndNotOnSums(t *testing.T) {
	gpu := map[string]string{"gpu": "a100"}
	taint := []match.Taint{{Key: "gpu", Effect: match.NoSchedule}}
	wantsGPU := match.Any{{{Key: "gpu", Operator: match.In, Values: []string{"a100"}}}}
	for name, c := range map[string]struct {
		nodes []Node
		pod   Pod
		want  int64
	}{
		"ten cores in ten pieces":        {[]Node{{Count: 10, Free: amounts{"cpu": 1000}}}, Pod{Need: amounts{"cpu": 4000}}, 0},
		"ten cores in two pieces":        {[]Node{{Count: 2, Free: amounts{"cpu": 5000}}}, Pod{Need: amounts{"cpu": 4000}}, 2},
		"the scarcer of two":             {[]Node{{Count: 1, Free: amounts{"cpu": 8000, "memory": 3 * gi}}}, Pod{Need: amounts{"cpu": 1000, "memory": gi}}, 3},
		"cpu here and memory there":      {[]Node{{Count: 1, Free: amounts{"cpu": 8000}}, {Count: 1, Free: amounts{"memory": 8 * gi}}}, Pod{Need: amounts{"cpu": 1, "memory": 1}}, 0},
		"as many pods as a node may run": {[]Node{{Count: 3, Free: amounts{"cpu": 8000, "pods": 2}}}, Pod{Need: amounts{"cpu": 1}}, 6},
		"nothing requested":              {[]Node{{Count: 3, Free: amounts{"pods": 2}}}, Pod{}, 6},
		"nothing requested, no limit":    {[]Node{{Count: 1, Free: amounts{}}}, Pod{}, 1000},
		"no nodes":                       {nil, Pod{}, 0},
		"a resource nobody has":          {[]Node{{Count: 1, Free: amounts{"cpu": 8000}}}, Pod{Need: amounts{"example.com/dpu": 1}}, 0},
		"a resource weir never heard of": {[]Node{{Count: 4, Free: amounts{"example.com/dpu": 3}}}, Pod{Need: amounts{"example.com/dpu": 2}}, 4},
		"more taken than there is":       {[]Node{{Count: 1, Free: amounts{"cpu": -500}}}, Pod{Need: amounts{"cpu": 1}}, 0},
		"a selector":                     {[]Node{{Count: 2, Labels: gpu, Free: amounts{}}, {Count: 9, Free: amounts{}}}, Pod{Nodes: wantsGPU, Apart: true}, 2},
		"a taint":                        {[]Node{{Count: 2, Taints: taint, Free: amounts{}}, {Count: 9, Free: amounts{}}}, Pod{Apart: true}, 9},
		"a taint that is tolerated":      {[]Node{{Count: 2, Taints: taint, Free: amounts{}}}, Pod{Apart: true, Tolerations: []match.Toleration{{Key: "gpu", Exists: true}}}, 2},
		"a soft taint":                   {[]Node{{Count: 2, Taints: []match.Taint{{Key: "x", Effect: match.PreferNoSchedule}}, Free: amounts{}}}, Pod{Apart: true}, 2},
		"no two on a node":               {[]Node{{Count: 5, Free: amounts{"cpu": 64000}}}, Pod{Need: amounts{"cpu": 1}, Apart: true}, 5},
		"nodes that are not there":       {[]Node{{Count: 0, Free: amounts{}}, {Count: -3, Free: amounts{}}}, Pod{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var catalogue Catalogue
			room := catalogue.Room(c.nodes)
			seeker := catalogue.Seeker(&c.pod)
			if got := seeker.Count(room, 1000); got != c.want {
				t.Errorf("%d fit, want %d", got, c.want)
			}
			if got := seeker.Count(room, 1); got != min(1, c.want) {
				t.Errorf("%d fit where one was asked for", got)
			}
			if got := seeker.Count(room, 0); got != 0 {
				t.Errorf("%d fit where none was asked for", got)
			}
		})
	}
}

func TestNodesThatAreAlikeAreOneShape(t *testing.T) {
	var catalogue Catalogue
	node := Node{Count: 2, Labels: map[string]string{"a": "1", "b": "2"}, Free: amounts{"cpu": 1000}}
	other := node
	other.Labels = map[string]string{"a": "1", "b": "3"}
	if room := catalogue.Room([]Node{node, other, node}); len(room) != 2 || room[0].count != 4 {
		t.Errorf("%+v", room)
	}
}

// A member of the largest size there may be, each node unlike every other.
func BenchmarkRoomOf20000Nodes(b *testing.B) {
	nodes := make([]Node, 20000)
	for i := range nodes {
		nodes[i] = Node{Count: 1, Labels: map[string]string{"pool": "general"}, Free: amounts{"cpu": int64(i), "memory": int64(i) << 20, "pods": 100}}
	}
	b.ReportAllocs()
	for b.Loop() {
		var catalogue Catalogue
		if room := catalogue.Room(nodes); len(room) != len(nodes) {
			b.Fatal(len(room))
		}
	}
}

// rooms draws some nodes, as a catalogue and a room.
func rooms(t *rapid.T) (*Catalogue, Room) {
	var nodes []Node
	for range rapid.IntRange(0, 5).Draw(t, "shapes") {
		nodes = append(nodes, Node{
			Count: rapid.Int64Range(1, 4).Draw(t, "count"),
			Free:  amounts{"cpu": rapid.Int64Range(-2, 12).Draw(t, "cpu"), "memory": rapid.Int64Range(0, 12).Draw(t, "memory"), "pods": rapid.Int64Range(0, 9).Draw(t, "pods")},
		})
	}
	catalogue := &Catalogue{}
	return catalogue, catalogue.Room(nodes)
}

func pods(t *rapid.T, name string) *Pod {
	return &Pod{
		Need:  amounts{"cpu": rapid.Int64Range(0, 5).Draw(t, name+"CPU"), "memory": rapid.Int64Range(0, 5).Draw(t, name+"Memory")},
		Apart: rapid.IntRange(0, 3).Draw(t, name+"Apart") == 0,
	}
}

func TestWhatIsTakenIsGoneExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		catalogue, room := rooms(t)
		pod := pods(t, "pod")
		pod.Apart = false
		seeker := catalogue.Seeker(pod)
		fits := seeker.Count(room, 1000)
		n := rapid.Int64Range(0, 40).Draw(t, "taken")
		after := seeker.Take(room, n)
		if got, want := seeker.Count(after, 1000), fits-min(n, fits); got != want {
			t.Fatalf("%d fit after %d of %d were taken", got, n, fits)
		}
		if count(after) != count(room) {
			t.Fatalf("%d nodes become %d", count(room), count(after))
		}
	})
}

func count(room Room) int64 {
	n := int64(0)
	for i := range room {
		n += room[i].count
	}
	return n
}

func TestTakingNeverMakesRoomAndLeavesTheOriginalAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		catalogue, room := rooms(t)
		var before Room
		for _, s := range room {
			before = append(before, shape{s.count, s.class, slices.Clone(s.free)})
		}
		taker, asker := catalogue.Seeker(pods(t, "taker")), catalogue.Seeker(pods(t, "asker"))
		after := taker.Take(room, rapid.Int64Range(0, 40).Draw(t, "taken"))
		if a, b := asker.Count(after, 1000), asker.Count(room, 1000); a > b {
			t.Fatalf("%d fit, and %d before", a, b)
		}
		if count(after) != count(room) {
			t.Fatalf("%d nodes become %d", count(room), count(after))
		}
		if diff := cmp.Diff(before, room, cmp.AllowUnexported(shape{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// One node at a time, each pod onto the node that could hold most: what Take does at once for many.
func TestTakingManyIsTakingOneManyTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		catalogue, room := rooms(t)
		seeker := catalogue.Seeker(pods(t, "pod"))
		if seeker.pod.Apart {
			return // at once means on different nodes, one by one does not.
		}
		n := rapid.Int64Range(0, 20).Draw(t, "taken")
		slow := room
		for range n {
			slow = seeker.Take(slow, 1)
		}
		left := func(room Room) []int64 {
			var each []int64
			for i := range room {
				for range room[i].count {
					each = append(each, seeker.each(&room[i], 1000))
				}
			}
			slices.Sort(each)
			return each
		}
		if diff := cmp.Diff(left(slow), left(seeker.Take(room, n))); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestTheReasonWhyNothingFits(t *testing.T) {
	labelled := match.Any{{{Key: "gpu", Operator: match.Exists}}}
	for name, c := range map[string]struct {
		nodes []Node
		pod   Pod
		lack  Lack
		text  string
	}{
		"no node":  {nil, Pod{}, NoNode, "the view has no node"},
		"selector": {[]Node{{Count: 1, Free: amounts{}}}, Pod{Nodes: labelled}, NoNode, "no node meets the node selector, the node affinity and the tolerations of the pod"},
		"shape":    {[]Node{{Count: 10, Free: amounts{"cpu": 300}}}, Pod{Need: amounts{"cpu": 500}}, NoShape, "3 cpu is free in pieces of 300m at most; one replica needs 500m"},
		"sum":      {[]Node{{Count: 1, Free: amounts{"memory": gi}}}, Pod{Need: amounts{"memory": 2 * gi}}, NoSum, "1Gi memory is free in all; one replica needs 2Gi"},
		"both":     {[]Node{{Count: 1, Free: amounts{"cpu": 2000}}, {Count: 1, Free: amounts{"memory": gi}}}, Pod{Need: amounts{"cpu": 1000, "memory": gi}}, NoShape, "no node has 1 pods, 1 cpu, 1Gi memory free at once"},
		"unknown":  {[]Node{{Count: 1, Free: amounts{}}}, Pod{Need: amounts{"example.com/dpu": 1}}, NoSum, "no node has example.com/dpu; one replica needs 1"},
		"pods":     {[]Node{{Count: 1, Free: amounts{"pods": 0}}}, Pod{}, NoSum, "every node runs as many pods as it may"},
	} {
		t.Run(name, func(t *testing.T) {
			var catalogue Catalogue
			room := catalogue.Room(c.nodes)
			lack, text := catalogue.Seeker(&c.pod).Explain(room)
			if lack != c.lack || text != c.text {
				t.Errorf("%d %q", lack, text)
			}
		})
	}
}

func TestAcceleratorsAndNodesOfTheirOwnAreExact(t *testing.T) {
	for name, c := range map[string]struct {
		pod  Pod
		want bool
	}{
		"cores":       {Pod{Need: amounts{"cpu": 1, "memory": 1}}, false},
		"accelerator": {Pod{Need: amounts{"nvidia.com/gpu": 1}}, true},
		"none of it":  {Pod{Need: amounts{"nvidia.com/gpu": 0}}, false},
		"host port":   {Pod{Apart: true}, true},
	} {
		if c.pod.Exact() != c.want {
			t.Errorf("%s: %t", name, !c.want)
		}
	}
}
