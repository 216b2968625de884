// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"
	"time"
)

func TestNodesThatAreAlikeAreOneShape(t *testing.T) {
	used, down, other := plain("c"), plain("d"), plain("e")
	used.Allocated = pod(500, 1)
	down.Conditions = ready.With(Ready, False)
	other.Labels = nil
	v := bookOf(t, plain("b"), used, plain("a"), down, other).View()
	p := plain("")
	differ(t, "shapes", []Shape{
		{Count: 2, Example: "a", Usable: true, Allocatable: p.Allocatable, Labels: p.Labels},
		{Count: 1, Example: "c", Usable: true, Allocatable: p.Allocatable, Allocated: used.Allocated, Labels: p.Labels},
		{Count: 1, Example: "d", Allocatable: p.Allocatable, Labels: p.Labels},
		{Count: 1, Example: "e", Usable: true, Allocatable: p.Allocatable},
	}, v.Shapes())
}

func TestTheLargestFreeShapesAreThoseThatNoOtherNodeCovers(t *testing.T) {
	sized := func(name string, cpu, memory, gpu, pods int64, taken Amounts) *Node {
		return &Node{
			Name: name, Conditions: ready, Allocated: taken,
			Allocatable: MakeAmounts(map[string]int64{CPU: cpu, Memory: memory, "gpu": gpu, Pods: pods, EphemeralStorage: 1 << 40}),
		}
	}
	down := sized("down", 64000, 64, 0, 100, nil)
	down.Conditions = 0
	v := bookOf(t,
		sized("cpu", 8000, 8, 0, 100, nil),
		sized("memory", 2000, 32, 0, 100, nil),
		sized("between", 4000, 16, 0, 100, nil),
		sized("covered", 4000, 8, 0, 100, nil),
		sized("covered too", 9000, 64, 0, 100, Amounts{{CPU, 7000}, {Memory, 60}}),
		sized("gpu", 1000, 1, 4, 100, Amounts{{"gpu", 1}}),
		sized("over", 4000, 4, 0, 100, Amounts{{CPU, 5000}}),
		sized("no pods left", 16000, 64, 0, 3, Amounts{{Pods, 3}}),
		down,
	).View()
	all := []Free{
		{1, Amounts{{CPU, 8000}, {Memory, 8}}},
		{1, Amounts{{CPU, 4000}, {Memory, 16}}},
		{1, Amounts{{CPU, 2000}, {Memory, 32}}},
		{1, Amounts{{CPU, 1000}, {"gpu", 3}, {Memory, 1}}},
	}
	differ(t, "all", all, v.Largest(8))
	differ(t, "two", []Free{all[0], all[3]}, v.Largest(2))
	differ(t, "one", all[:1], v.Largest(1))
	differ(t, "none", []Free(nil), v.Largest(0))
	same := bookOf(t, plain("a"), plain("b"), plain("c")).View()
	differ(t, "three alike", []Free{{3, Amounts{{CPU, 4000}, {Memory, 16 << 30}}}}, same.Largest(8))
}

func TestConfidenceHalvesWithAge(t *testing.T) {
	const fresh = 30 * time.Second
	for age, want := range map[time.Duration]int{
		-time.Second: 100, 0: 100, fresh: 100, fresh + fresh/2: 75, 2 * fresh: 50, 3 * fresh: 25, 4 * fresh: 12, 8 * fresh: 0, 1000 * time.Hour: 0,
	} {
		if got := Confidence(age, fresh); got != want {
			t.Errorf("%s: %d, want %d", age, got, want)
		}
	}
	before := 100
	for age := range 400 {
		got := Confidence(time.Duration(age)*time.Second, fresh)
		if got > before {
			t.Errorf("at %d s it rises from %d to %d", age, before, got)
		}
		before = got
	}
	if got := Confidence(time.Hour, 0); got != 100 {
		t.Errorf("nothing is said of what is fresh: %d", got)
	}
}
