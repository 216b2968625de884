// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// states draws any valid State, also such as no service ever comes into.
func states() *rapid.Generator[State] {
	return rapid.Custom(func(t *rapid.T) State {
		s := State{
			Service:  "shop/cart",
			Replicas: pick(t, "replicas", Plain, Owned), Steering: pick(t, "steering", Always, OnDemand),
			Headroom: pick(t, "headroom", Warn, Require), Record: Open,
			Demand: rapid.Int32Range(0, 12).Draw(t, "demand"), MinReady: rapid.Int32Range(0, 4).Draw(t, "minReady"),
			Limits: Limits{
				MaxStep: Permille(rapid.Int32Range(0, 1000).Draw(t, "maxStep")), FenceStep: rapid.Int32Range(0, 3).Draw(t, "fenceStep"),
			},
			Rules: proofs(t, "rules"), Weights: proofs(t, "weights"), Fence: proofs(t, "fence"),
			Decision: pick(t, "decision", Current, Current, Outdated),
			Foreign:  pick(t, "foreign", "", "", "", "alice"),
		}
		n := rapid.IntRange(1, 5).Draw(t, "clusters")
		before, target, wrote := split(t, "before", n, nil), make([]Permille, n), split(t, "wrote", n, nil)
		stays := make([]bool, n)
		for i := range n {
			s.Clusters = append(s.Clusters, clusters(t, i))
			stays[i] = s.Clusters[i].Goal != Drain
		}
		if slices.Contains(stays, true) {
			target = split(t, "target", n, stays)
		}
		for i := range s.Clusters {
			c := &s.Clusters[i]
			c.Before.Share, c.Target.Share = before[i], target[i]
			if c.Goal == Drain {
				c.Target.Replicas = 0
			}
			if s.Weights.Level != Unwritten {
				c.Wrote, c.HeldLo, c.HeldHi = wrote[i], wrote[i], wrote[i]
			}
		}
		return s
	}).Filter(func(s State) bool { return Validate(s) == nil })
}

func pick[T any](t *rapid.T, name string, from ...T) T {
	return rapid.SampledFrom(from).Draw(t, name)
}

func proofs(t *rapid.T, name string) Proof {
	return Proof{
		Level: pick(t, name, Unwritten, Waiting, Timed, Proven, Proven), Lease: pick(t, name, Stale, Fresh, Fresh, Lapsed),
		Overdue: rapid.Bool().Draw(t, name),
	}
}

// split draws shares that sum to Whole, over those that may have any.
func split(t *rapid.T, name string, n int, may []bool) []Permille {
	raw := make([]Permille, n)
	for i := range raw {
		if may == nil || may[i] {
			raw[i] = Permille(rapid.Int32Range(0, 3).Draw(t, name))
		}
	}
	if sum(raw) == 0 {
		raw[max(0, slices.Index(may, true))] = 1
	}
	return apportion(Whole, raw)
}

func clusters(t *rapid.T, i int) Cluster {
	c := Cluster{
		Name: string(rune('a' + i)),
		Goal: pick(t, "goal", Stay, Stay, Drain, Undrain, Abort, Move), Turn: rapid.Int32Range(0, 2).Draw(t, "turn"),
		Accepted: rapid.Bool().Draw(t, "accepted"),
		Before:   Place{Replicas: rapid.Int32Range(0, 4).Draw(t, "before")},
		Target:   Place{Replicas: rapid.Int32Range(0, 4).Draw(t, "target")},
		Floor:    rapid.Int32Range(0, 1).Draw(t, "floor"),
		Applied:  rapid.Int32Range(0, 4).Draw(t, "applied"), Ready: rapid.Int32Range(0, 4).Draw(t, "ready"),
		Entry: pick(t, "entry", Free, Shut), DNS: pick(t, "dns", Named, Cached, Expired, Unused),
		Quiet:    pick(t, "quiet", Busy, Once, Twice, Overdue, NotMeasured),
		InFlight: pick(t, "inFlight", SomeWork, NoWork, WorkOverdue, WorkNotMeasured),
		Sight:    pick(t, "sight", Seen, Seen, Seen, Blind),
		Hold:     pick(t, "hold", Unheld, Unheld, Unheld, RollingOut),
		Scaler:   pick(t, "scaler", Unscaled, Unscaled, Autoscaled, Lowered, Operated),
	}
	c.Fenced = rapid.Int32Range(0, c.Ready).Draw(t, "fenced")
	return c
}

func TestNextAnswersEveryValidState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := states().Draw(t, "state")
		step, why := Next(s)
		if _, err := step.Kind.MarshalText(); err != nil {
			t.Fatal(err)
		}
		if step.Kind == Wait && !slices.ContainsFunc(why, func(b Blocked) bool { return !b.Note }) {
			t.Fatalf("waits without a reason: %v", why)
		}
		for _, b := range why {
			if b.Sentence() == "" || b.Sentence() == b.Code.String() {
				t.Fatalf("no sentence for %+v", b)
			}
		}
		if step.Kind == Split {
			var total Permille
			for _, w := range step.Split {
				total += w.Share
			}
			if total != Whole || len(step.Split) != len(s.Clusters) || len(step.Split) < 2 {
				t.Fatalf("split %v is not whole", step.Split)
			}
		}
	})
}

func TestNextAnswersTheSameTwiceAndLeavesItsInputAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := states().Draw(t, "state")
		kept := s
		kept.Clusters = slices.Clone(s.Clusters)
		a, whyA := Next(s)
		b, whyB := Next(s)
		if d := cmp.Diff(a, b) + cmp.Diff(whyA, whyB); d != "" {
			t.Fatal(d)
		}
		if d := cmp.Diff(kept, s); d != "" {
			t.Fatalf("changed its input: %s", d)
		}
	})
}

func TestNextIsBlindToTheOrderOfClusters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := states().Draw(t, "state")
		shuffled := s
		shuffled.Clusters = rapid.Permutation(s.Clusters).Draw(t, "order")
		a, whyA := Next(s)
		b, whyB := Next(shuffled)
		if d := cmp.Diff(a, b) + cmp.Diff(whyA, whyB); d != "" {
			t.Fatal(d)
		}
	})
}

// A caller that crashed after the write does the same step again: nothing comes of it.
func TestAStepDoneTwiceIsDoneOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := states().Draw(t, "state")
		step, _ := Next(s)
		once := bench{s: s}
		once.s.Clusters = slices.Clone(s.Clusters)
		once.do(step)
		twice := bench{s: once.s}
		twice.s.Clusters = slices.Clone(once.s.Clusters)
		if step.Kind != Release { // Its second time finds the record closed, and no goal.
			twice.do(step)
		}
		if d := cmp.Diff(once.s, twice.s); d != "" {
			t.Fatal(d)
		}
	})
}

// The oracle agrees with Next also far from where any real service comes.
func TestNextKeepsTheInvariantsInEveryValidState(t *testing.T) {
	one := func(s State) bool { // One write in flight at most, as weir leaves it.
		n := 0
		for _, q := range []Proof{s.Rules, s.Weights, s.Fence} {
			if q.Level == Waiting && !q.Overdue {
				n++
			}
		}
		return n <= 1
	}
	rapid.Check(t, func(t *rapid.T) {
		s := states().Filter(one).Draw(t, "state")
		step, why := Next(s)
		truth := s
		for _, q := range []*Proof{&truth.Rules, &truth.Weights, &truth.Fence} {
			if q.Level == Waiting && q.Overdue {
				q.Level = Timed
			}
		}
		after := bench{s: truth}
		after.s.Clusters = slices.Clone(s.Clusters)
		after.do(step)
		if broken := Violations(truth, step, after.s); len(broken) > 0 {
			t.Fatalf("%+v breaks %v; reasons %v", step, broken, why)
		}
	})
}

func TestAStateReadFromItsFileIsDecidedAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := states().Draw(t, "state")
		var file, again bytes.Buffer
		if err := WriteState(&file, s); err != nil {
			t.Fatal(err)
		}
		text := file.String()
		read, err := ReadState(&file)
		if err != nil {
			t.Fatal(err)
		}
		a, whyA := Next(s)
		b, whyB := Next(read)
		if d := cmp.Diff(a, b) + cmp.Diff(whyA, whyB); d != "" {
			t.Fatal(d)
		}
		if err := WriteState(&again, read); err != nil || again.String() != text {
			t.Fatalf("not stable: %v\n%s", err, cmp.Diff(text, again.String()))
		}
	})
}

func TestAFileThatIsNotAStateIsRefusedByName(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown field":    {`{"service":"a","color":"red"}`, `unknown field "color"`},
		"unknown value":    {`{"steering":"Sideways"}`, `Steering "Sideways" is not known: use one of Always, OnDemand`},
		"no cluster":       {`{"service":"a"}`, "clusters: 0 given"},
		"not JSON":         {`drain c2`, "invalid character"},
		"too long":         {strings.Repeat(" ", maxFile+1), "longer than"},
		"negative":         {`{"demand":-1,"clusters":[{"name":"a"}]}`, "demand is -1, want 0 to"},
		"goal, no record":  {`{"clusters":[{"name":"a","goal":"Drain"}]}`, "write it down and set record to Open"},
		"drain to a place": {`{"record":"Open","clusters":[{"name":"a","goal":"Drain","target":{"share":1000}}]}`, "a drain's target must be zero"},
		"same name twice":  {`{"clusters":[{"name":"a"},{"name":"a"}]}`, `clusters[1]: name "a" is empty or given twice`},
		"more fenced":      {`{"clusters":[{"name":"a","ready":1,"fenced":2}]}`, `cluster "a": fenced is 2, want 0 to 1`},
		"half a split":     {`{"clusters":[{"name":"a","target":{"share":500}}]}`, "target shares sum to 500, want 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadState(strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestValuesOutsideTheirClosedListAreRefused(t *testing.T) {
	s := State{Steering: 9, Clusters: []Cluster{{Name: "a", Goal: 9, Target: Place{Share: Whole}}}}
	err := Validate(s)
	if err == nil || !strings.Contains(err.Error(), "steering: value 9") || !strings.Contains(err.Error(), `cluster "a": goal: value 9`) {
		t.Fatalf("got %v", err)
	}
	if got := s.Steering.String(); got != "unknown(9)" {
		t.Fatalf("got %q", got)
	}
	if err := WriteState(&bytes.Buffer{}, s); err == nil {
		t.Fatal("wrote a value that cannot be read")
	}
}

func TestWhoeverHasNotTakenAWriteIsToldApartAndWhereToLook(t *testing.T) {
	for subject, want := range map[string]string{
		"":                 "waiting for proxies to take the rules",
		"proxy web-1.demo": "waiting for proxy web-1.demo of c1 to take the rules",
		"agent":            "weir's agent in c1, which is not heard",
		"prover":           "its agent's log says why",
		"api server":       "the API server of c1",
		"istiod istiod-1":  "istiod istiod-1 of c1 to show",
	} {
		got := Blocked{Code: RulesUnproven, Cluster: "c1", Subject: subject}.Sentence()
		if !strings.Contains(got, want) || !strings.Contains(got, "to take the rules") {
			t.Errorf("%q: %s", subject, got)
		}
	}
}
