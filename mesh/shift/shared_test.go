// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// leaving is a service that is about to fence the pods of c2, which leaves, and the step.
func leaving() (State, Step) {
	proven := Proof{Level: Proven, Lease: Fresh}
	of := func(name string, share Permille) Cluster {
		return Cluster{
			Name: name, Before: Place{Replicas: 3, Share: 500}, Target: Place{Replicas: 3, Share: share}, Applied: 3, Ready: 3,
			Wrote: share, HeldLo: share, HeldHi: share, DNS: Unused, Sight: Seen,
		}
	}
	s := State{Service: "demo/api", Record: Open, Demand: 3, Rules: proven, Weights: proven, Clusters: []Cluster{of("c1", 1000), of("c2", 0)}}
	s.Clusters[1].Goal, s.Clusters[1].Target = Drain, Place{}
	return s, Step{Kind: Fence, Cluster: "c2", Fenced: 3, Entry: Shut}
}

func TestPodsAreSparedWhenNoProxyUsesThemByWeight(t *testing.T) {
	cases := map[string]struct {
		change func(*State)
		want   bool
	}{
		"it leaves, and its weight is gone":      {func(*State) {}, true},
		"it fences them itself":                  {func(s *State) { s.Clusters[1].Entry, s.Weights.Lease = Shut, Stale }, true},
		"it has a weight there":                  {func(s *State) { s.Clusters[1].Wrote, s.Clusters[0].Wrote = 500, 500 }, false},
		"a proxy may use an older weight":        {func(s *State) { s.Clusters[1].HeldHi = 500 }, false},
		"its weights are not proven":             {func(s *State) { s.Weights.Level = Waiting }, false},
		"the user's patience with proxies ended": {func(s *State) { s.Weights.Level, s.Weights.Overdue = Waiting, true }, true},
		"its proof is old":                       {func(s *State) { s.Weights.Lease = Stale }, false},
		"it has no weights yet":                  {func(s *State) { s.Weights = Proof{} }, false},
		"DNS names it":                           {func(s *State) { s.Clusters[1].DNS = Named }, false},
		"somebody else writes its rules":         {func(s *State) { s.Foreign = "team/echo" }, false},
		"it stays":                               {func(s *State) { s.Clusters[1].Goal, s.Clusters[1].Target = Stay, Place{Replicas: 3} }, false},
		"it is nowhere else":                     {func(s *State) { s.Clusters[0].Ready, s.Clusters[0].Applied = 0, 0 }, false},
		"it is in that cluster alone":            {func(s *State) { s.Clusters = s.Clusters[1:] }, false},
		"it is not in that cluster":              {func(s *State) { s.Clusters = s.Clusters[:1] }, false},
		"it waits for consent": {func(s *State) {
			s.Headroom, s.Clusters[0].Ready, s.Clusters[1].Wrote = Require, 1, 0
			s.Clusters[1].Before.Share = 0
		}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, step := leaving()
			c.change(&s)
			if got := Spares(s, step); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestNoPodIsFencedThatAnotherServiceNeeds(t *testing.T) {
	s, step := leaving()
	if got, why := Next(s); got.Kind != step.Kind || got.Cluster != step.Cluster || got.Entry != step.Entry {
		t.Fatalf("without another: %+v, %+v", got, why)
	}
	s.Clusters[1].Needed = []string{"demo/echo", "demo/web"}
	got, why := Next(s)
	if got.Kind != Wait {
		t.Errorf("step %+v", got)
	}
	var subjects []string
	for _, b := range why {
		if b.Code == SharedPods && b.Cluster == "c2" && b.Wakes == SharerReady && !b.Note {
			subjects = append(subjects, b.Subject)
		}
	}
	if !slices.Equal(subjects, s.Clusters[1].Needed) {
		t.Errorf("it waits for %+v", why)
	}
}

func TestASurplusIsSparedWhereTheOtherHasAsMuch(t *testing.T) {
	s, step := leaving()
	s.Replicas = Owned
	s.Clusters[1].Goal, s.Clusters[1].Target = Move, Place{Replicas: 1, Share: 0}
	s.Clusters[0].Goal, s.Clusters[0].Target = Move, Place{Replicas: 3, Share: 1000}
	step.Entry, step.Fenced = Free, 2
	if !Spares(s, step) {
		t.Error("two of three that are one too many each are not spared")
	}
	step.Fenced = 3
	if Spares(s, step) {
		t.Error("the pod that it keeps is spared")
	}
}

// about is a service of which cluster c2 leaves, somewhere between the last of its weight and the last of its fence.
func about() *rapid.Generator[State] {
	return rapid.Custom(func(t *rapid.T) State {
		s, _ := leaving()
		// Small numbers and the first of a list are drawn most: they are what leads to a fence.
		s.Fence = s.Weights
		if rapid.IntRange(0, 3).Draw(t, "unproven") > 1 {
			s.Weights, s.Fence = proofs(t, "weights"), proofs(t, "fence")
		}
		s.Unweighted = pick(t, "unweighted", nil, []string{"c1/gateway"})
		s.Limits.FenceStep = rapid.Int32Range(0, 2).Draw(t, "fenceStep")
		s.Clusters[0].Ready = 6 - rapid.Int32Range(0, 6).Draw(t, "missing")
		c := &s.Clusters[1]
		c.Goal = pick(t, "goal", Drain, Drain, Drain, Drain, Undrain, Stay)
		c.Fenced, c.Entry = rapid.Int32Range(0, 3).Draw(t, "fenced"), pick(t, "entry", Free, Shut)
		c.DNS, c.Sight = pick(t, "dns", Unused, Cached, Named), pick(t, "sight", Seen, Seen, Seen, Blind)
		if rapid.IntRange(0, 3).Draw(t, "carries") > 1 {
			c.Wrote, c.HeldLo, c.HeldHi = 300, 300, pick(t, "held", Permille(300), 500)
			s.Clusters[0].Wrote, s.Clusters[0].HeldLo, s.Clusters[0].HeldHi = 700, 700, 700
		}
		return s
	})
}

func TestWhoWouldFenceSparesSoTwoNeverWaitForEachOther(t *testing.T) {
	fences := 0
	rapid.Check(t, func(t *rapid.T) {
		s := about().Draw(t, "state")
		step, _ := Next(s)
		if step.Kind != Fence {
			return
		}
		fences++
		if !Spares(s, step) {
			t.Fatalf("it would take %+v and does not spare what that takes: %+v", step, s)
		}
	})
	if fences == 0 {
		t.Error("no state came to a fence")
	}
}

func TestWhatLeavesIsSparedOnlyWithoutWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := about().Draw(t, "state")
		_, step := leaving()
		if s.Clusters[1].Wrote > 0 && s.Clusters[1].Entry == Free && Spares(s, step) {
			t.Fatalf("it carries weight and is spared: %+v", s)
		}
	})
}
