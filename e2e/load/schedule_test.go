// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-io/weir/e2e/load"
)

// plan draws a seed, a rate and a mix of up to four classes.
func plan(t *rapid.T) (uint64, float64, []load.Share) {
	mix := load.DefaultMix()[:rapid.IntRange(1, 4).Draw(t, "classes")]
	for i := range mix {
		mix[i].Part = rapid.IntRange(1, 9).Draw(t, "part")
	}
	return rapid.Uint64().Draw(t, "seed"), rapid.Float64Range(0.5, 500).Draw(t, "rate"), mix
}

func take(t *rapid.T, seed uint64, rate float64, mix []load.Share, n int) []load.Arrival {
	s, err := load.NewSchedule(seed, rate, mix)
	if err != nil {
		t.Fatal(err)
	}
	arrivals := make([]load.Arrival, n)
	for i := range arrivals {
		arrivals[i] = s.Next()
	}
	return arrivals
}

func TestScheduleKeepsOneRequestInEachSlotOfEachClass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, rate, mix := plan(t)
		sum := 0
		for _, s := range mix {
			sum += s.Part
		}
		next := map[load.Class]int{}
		last := time.Duration(0)
		for _, a := range take(t, seed, rate, mix, 300) {
			if a.Due < last {
				t.Fatalf("request at %s comes after one at %s", a.Due, last)
			}
			last = a.Due
			for _, s := range mix {
				if s.Class != a.Class {
					continue
				}
				slot := float64(time.Second) * float64(sum) / (rate * float64(s.Part))
				from := time.Duration(float64(next[a.Class]) * slot)
				if a.Due < from-1 || a.Due > from+time.Duration(slot)+1 {
					t.Fatalf("%s number %d at %s is outside its slot from %s of %s", a.Class, next[a.Class], a.Due, from, time.Duration(slot))
				}
			}
			next[a.Class]++
		}
	})
}

func TestScheduleIsTheSameForTheSameSeedAndOtherwiseNot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, rate, mix := plan(t)
		one := take(t, seed, rate, mix, 50)
		if diff := cmp.Diff(one, take(t, seed, rate, mix, 50)); diff != "" {
			t.Fatalf("same seed, other plan:\n%s", diff)
		}
		if cmp.Equal(one, take(t, seed+1, rate, mix, 50)) {
			t.Fatal("another seed gave the same plan")
		}
	})
}

func TestScheduleRefusesWhatItCannotPlan(t *testing.T) {
	class := load.Class{Protocol: load.HTTP1, Kind: load.Slow}
	for name, c := range map[string]struct {
		rate float64
		mix  []load.Share
	}{
		"no rate":       {0, load.DefaultMix()},
		"negative rate": {-1, load.DefaultMix()},
		"empty mix":     {1, nil},
		"empty part":    {1, []load.Share{{Class: class}}},
		"class twice":   {1, []load.Share{{Class: class, Part: 1}, {Class: class, Part: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := load.NewSchedule(1, c.rate, c.mix); err == nil {
				t.Fatal("it was planned")
			}
		})
	}
}
