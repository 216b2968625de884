// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-io/weir/api/v1alpha1"
)

// at reads places such as "c1 3>0 ready 3": three are planned and none decided. "blind", "rolling", "hpa", "drained"
// and "stray" may follow.
func at(t *testing.T, texts ...string) []place {
	t.Helper()
	var out []place
	for _, text := range texts {
		var p place
		words := strings.Fields(text)
		if _, err := fmt.Sscanf(text, "%s %d>%d ready %d", &p.cluster, &p.planned, &p.decided, &p.ready); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		p.seen = true
		for _, word := range words[4:] {
			switch word {
			case "blind":
				p.seen = false
			case "rolling":
				p.rolling = true
			case "hpa":
				p.held = v1alpha1.ReasonHPA
			case "drained":
				p.lowers = true
			case "stray":
				p.stray = true
			}
		}
		out = append(out, p)
	}
	return out
}

func text(m move) string {
	var words []string
	for _, p := range m.plan {
		words = append(words, fmt.Sprintf("%s:%d", p.Name, p.Replicas))
	}
	for _, name := range m.lowered {
		words = append(words, "lowered/"+name)
	}
	if m.step != "" {
		words = append(words, m.step)
	}
	for _, b := range m.blocked {
		words = append(words, strings.TrimSuffix(b.Code+"/"+b.Cluster, "/"))
	}
	return strings.Join(words, " ")
}

func TestAPlanGoesUpAtOnceAndDownWhenOthersAreReady(t *testing.T) {
	for name, c := range map[string]struct {
		wanted int32
		places []string
		want   string
	}{
		"new":                               {3, []string{"c1 0>2 ready 0", "c2 0>1 ready 0"}, "c1:2 c2:1 ReplicasUp"},
		"settled":                           {3, []string{"c1 2>2 ready 2", "c2 1>1 ready 0"}, "c1:2 c2:1"},
		"a move begins":                     {3, []string{"c1 3>0 ready 3", "c2 0>3 ready 0"}, "c1:3 c2:3 ReplicasUp NotReady/c2"},
		"a move waits":                      {3, []string{"c1 3>0 ready 3", "c2 3>3 ready 0"}, "c1:3 c2:3 ReplicasDown NotReady/c2"},
		"a move is half done":               {3, []string{"c1 3>0 ready 3", "c2 3>3 ready 2"}, "c1:1 c2:3 ReplicasDown NotReady/c2"},
		"a move is done":                    {3, []string{"c1 3>0 ready 3", "c2 3>3 ready 3"}, "c2:3 ReplicasDown"},
		"scaled down":                       {4, []string{"c1 5>2 ready 5", "c2 4>2 ready 4"}, "c1:2 c2:2 ReplicasDown"},
		"scaled down, one not ready":        {4, []string{"c1 5>2 ready 5", "c2 2>2 ready 1"}, "c1:3 c2:2 ReplicasDown NotReady/c2"},
		"scaled to nothing":                 {0, []string{"c1 5>0 ready 5", "c2 4>0 ready 4"}, "ReplicasDown"},
		"nobody sees whether they are":      {3, []string{"c1 3>0 ready 3", "c2 3>3 ready 3 blind"}, "c1:3 c2:3 ReplicasDown CannotSee/c2"},
		"nothing has a place":               {3, []string{"c1 3>0 ready 3"}, "c1:3 ReplicasDown NoCapacity"},
		"a part has a place":                {3, []string{"c1 3>0 ready 3", "c2 1>1 ready 1"}, "c1:2 c2:1 ReplicasDown NoCapacity"},
		"a rollout":                         {3, []string{"c1 3>0 ready 3", "c2 3>3 ready 2 rolling"}, "c1:3 c2:3 ReplicasDown HeldByFloor/c2"},
		"a rollout, and all are ready":      {3, []string{"c1 3>0 ready 3", "c2 3>3 ready 3 rolling"}, "c1:3 c2:3 ReplicasDown HeldByFloor/c2"},
		"an autoscaler in a drain, waiting": {3, []string{"c1 3>0 ready 5 drained", "c2 3>3 ready 2"}, "c1:1 c2:3 ReplicasDown NotReady/c2"},
		"an autoscaler in a drain":          {3, []string{"c1 3>0 ready 5 drained", "c2 3>3 ready 3"}, "c2:3 lowered/c1 ReplicasDown"},
		"an autoscaler, drained":            {3, []string{"c1 0>0 ready 0 drained", "c2 3>3 ready 3"}, "c2:3 lowered/c1"},
		"one that only an autoscaler keeps": {3, []string{"c1 0>0 ready 5 drained stray", "c2 3>3 ready 3"}, "c2:3 lowered/c1"},
		"one such, waiting":                 {3, []string{"c1 0>0 ready 5 drained stray", "c2 3>3 ready 2"}, "c2:3 ReplicasDown NotReady/c2"},
		"one such, beside a rollout":        {3, []string{"c1 0>0 ready 5 drained stray", "c2 3>3 ready 3 rolling"}, "c2:3 ReplicasDown HeldByFloor/c2"},
		"one such, not drained":             {3, []string{"c1 0>0 ready 5 stray", "c2 3>3 ready 2"}, "c2:3"},
		"an autoscaler, back in service":    {3, []string{"c1 0>2 ready 0", "c2 3>1 ready 3"}, "c1:2 c2:3 ReplicasUp NotReady/c1"},
		"an autoscaler":                     {3, []string{"c1 3>0 ready 3", "c2 3>3 ready 1 hpa"}, "c1:2 c2:3 ReplicasDown HeldByFloor/c2"},
		"those with the fewest ready first": {4, []string{"c1 2>0 ready 2", "c2 2>0 ready 0", "c3 4>4 ready 2"}, "c1:2 c3:4 ReplicasDown NotReady/c3"},
		"pods that are on their way out":    {6, []string{"c1 0>1 ready 3", "c2 6>5 ready 6"}, "c1:1 c2:6 ReplicasUp NotReady/c1"},
		"fewer stood than are wanted":       {9, []string{"c1 3>0 ready 3", "c2 0>9 ready 0"}, "c1:3 c2:9 ReplicasUp NotReady/c2"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := text(plain(at(t, c.places...), c.wanted, true)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// However members become ready, there are never fewer ready replicas than were wanted before, as long as that many stood.
func TestReplicasOfAMoveAreNeverFewerThanWereWanted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "members")
		places := make([]place, n)
		var stood, decided int32
		for i := range places {
			planned, to := rapid.Int32Range(0, 5).Draw(t, "planned"), rapid.Int32Range(0, 5).Draw(t, "decided")
			places[i] = place{cluster: fmt.Sprintf("c%d", i), planned: planned, decided: to, ready: planned, seen: true}
			stood, decided = stood+planned, decided+to
		}
		least := min(stood, decided)
		for range 40 {
			m := plain(slices.Clone(places), decided, true)
			plan := map[string]int32{}
			for _, p := range m.plan {
				plan[p.Name] = p.Replicas
			}
			var ready int32
			for i := range places {
				p := &places[i]
				p.planned = plan[p.cluster]
				p.ready = min(p.ready, p.planned)
				if p.ready < p.planned && rapid.Bool().Draw(t, "one more is ready") {
					p.ready++
				}
				ready += p.ready
			}
			if ready < least {
				t.Fatalf("%d ready of %d: %+v", ready, least, places)
			}
		}
		for range 10 {
			m := plain(slices.Clone(places), decided, true)
			plan := map[string]int32{}
			for _, p := range m.plan {
				plan[p.Name] = p.Replicas
			}
			for i := range places {
				places[i].planned = plan[places[i].cluster]
				places[i].ready = places[i].planned
			}
		}
		for _, p := range places {
			if p.planned != p.decided {
				t.Fatalf("the move does not end: %+v", places)
			}
		}
	})
}

func TestNothingGoesDownByWhatIsKnownOfAnOlderPlan(t *testing.T) {
	places := at(t, "c1 3>0 ready 3", "c2 3>3 ready 3")
	if got := text(plain(slices.Clone(places), 3, false)); got != "c1:3 c2:3 ReplicasDown" {
		t.Errorf("got %s", got)
	}
	if got := text(plain(places, 3, true)); got != "c2:3 ReplicasDown" {
		t.Errorf("got %s", got)
	}
}
