// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-io/weir/mesh/prover/canary"
	"github.com/weir-io/weir/mesh/prover/census"
	"github.com/weir-io/weir/mesh/prover/concern"
	"github.com/weir-io/weir/mesh/prover/push"
	"github.com/weir-io/weir/mesh/prover/syncz"
)

var evalStart = time.Date(2026, 8, 27, 12, 0, 0, 0, time.UTC)

func nonce(counter uint64, id int) push.Nonce {
	return push.Nonce{Version: push.Version{At: evalStart, Counter: counter}, ID: fmt.Sprintf("%08x-0000-4000-8000-%012x", id, id)}
}

func acked(counter uint64, id int) syncz.Status {
	return syncz.Status{Sent: nonce(counter, id), Acked: nonce(counter, id), SentAt: evalStart}
}

// scene is one replica that serves push 7 with one sidecar that has it.
func scene(at time.Duration) Observation {
	now := evalStart.Add(at)
	finding := canary.Finding{Sight: canary.SightNew, Push: push.Version{At: evalStart, Counter: 7}}
	return Observation{
		Now:       now,
		Namespace: "istio-system",
		Target: Target{
			Namespace: "demo", Name: "echo", Hosts: []string{fakeHost}, Ports: []Port{{Number: 8080, Routed: true}},
			Subsets: []string{fakeSubset}, Generation: 2, FenceGeneration: 1, Active: true,
		},
		Asked:       Asked{Rules: evalStart, Weights: evalStart, Fence: evalStart},
		CensusKnown: true,
		Pods:        []census.Pod{{Namespace: "demo", Name: "a", Kind: census.KindSidecar, Phase: census.PhaseRunning}},
		Replicas: []Replica{{
			Pod:    IstiodPod{Name: "istiod-0", UID: "u0"},
			Canary: canary.Answer{Stream: 3, Routes: finding, Fence: finding},
			Reading: Reading{Began: now, Ended: now, Stream: 3, Connections: []syncz.Connection{
				{Proxy: "a.demo", Type: "sidecar", Routes: acked(7, 1), Endpoints: acked(7, 2), Clusters: acked(7, 3)},
				{Proxy: "weir-canary-x.istio-system", Type: "sidecar"},
			}},
		}},
		Reach: map[string]concern.Reach{"a.demo": {Cluster: true, Subsets: []string{fakeSubset}, Generations: []int64{2}}},
	}
}

// twice judges what change makes of two looks a hold apart.
func twice(change func(*Observation)) Verdict {
	var v Verdict
	var m Memory
	for _, at := range []time.Duration{0, 2 * time.Second} {
		o := scene(at)
		change(&o)
		v, m = Evaluate(DefaultRules(), o, m)
	}
	return v
}

func TestTwoLooksAHoldApartProveAndOneDoesNot(t *testing.T) {
	var m Memory
	var levels []Level
	for _, at := range []time.Duration{0, 1999 * time.Millisecond, 2 * time.Second} {
		var v Verdict
		v, m = Evaluate(DefaultRules(), scene(at), m)
		levels = append(levels, v.Weights.Level)
		if v.Weights.Level != LevelProven && (len(v.Weights.Reasons) != 1 || v.Weights.Reasons[0].Code != ReasonHold) {
			t.Errorf("at %s: %+v", at, v.Weights.Reasons)
		}
	}
	if diff := cmp.Diff([]Level{LevelNone, LevelNone, LevelProven}, levels); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
	if v := twice(func(*Observation) {}); !proven(v) {
		t.Errorf("two looks: %+v", v)
	}
}

func TestOneLookReadTwiceIsOneLook(t *testing.T) {
	v := twice(func(o *Observation) {
		o.Replicas[0].Reading.Began, o.Replicas[0].Reading.Ended = evalStart, evalStart
	})
	if v.Weights.Level == LevelProven || v.Fence.Level == LevelProven {
		t.Errorf("an old reading counted as a second look: %+v", v.Weights)
	}
}

func TestWhatStandsAgainstAProofIsNamed(t *testing.T) {
	row := func(o *Observation) *syncz.Connection { return &o.Replicas[0].Reading.Connections[0] }
	for name, tc := range map[string]struct {
		change  func(*Observation)
		code    ReasonCode
		subject string
		renew   bool
	}{
		"no istiod":         {change: func(o *Observation) { o.Replicas = nil }, code: ReasonNoIstiod},
		"unreachable":       {change: func(o *Observation) { o.Replicas[0].Fault, o.Replicas[0].Reading = ReasonUnreachable, Reading{} }, code: ReasonUnreachable, subject: "istiod-0"},
		"no canary":         {change: func(o *Observation) { o.Replicas[0].Canary.Stream = 0 }, code: ReasonNoCanary, subject: "istiod-0"},
		"another process":   {change: func(o *Observation) { o.Replicas[0].Canary.Stream = 4 }, code: ReasonUnbound, subject: "istiod-0"},
		"reading of nobody": {change: func(o *Observation) { o.Replicas[0].Reading.Stream = 0 }, code: ReasonUnbound, subject: "istiod-0"},
		"stale":             {change: func(o *Observation) { o.Replicas[0].Canary.Routes.Sight = canary.SightOld }, code: ReasonStaleReplica, subject: "istiod-0"},
		"host not served":   {change: func(o *Observation) { o.Replicas[0].Canary.Routes.Sight = canary.SightBlind }, code: ReasonBlind, subject: "istiod-0"},
		"stale and no access": {change: func(o *Observation) {
			o.Replicas[0].Canary.Routes.Sight, o.Replicas[0].Fault = canary.SightOld, ReasonNoAccess
		}, code: ReasonStaleReplica, subject: "istiod-0"},
		"old evidence": {change: func(o *Observation) {
			o.Replicas[0].Reading.Began, o.Replicas[0].Reading.Ended = o.Now.Add(-11*time.Second), o.Now.Add(-11*time.Second)
		}, code: ReasonUnreachable, subject: "istiod-0"},
		"behind":          {change: func(o *Observation) { row(o).Routes.Acked = nonce(6, 9) }, code: ReasonBehind, subject: "a.demo"},
		"never sent":      {change: func(o *Observation) { row(o).Routes = syncz.Status{} }, code: ReasonBehind, subject: "a.demo"},
		"refused":         {change: func(o *Observation) { row(o).Routes.LastError = "no" }, code: ReasonRefused, subject: "a.demo"},
		"cluster refused": {change: func(o *Observation) { row(o).Clusters.LastError = "no" }, code: ReasonRefused, subject: "a.demo"},
		"unreadable":      {change: func(o *Observation) { row(o).Routes.Unreadable = true }, code: ReasonUnreadable, subject: "a.demo"},
		"unknown scope":   {change: func(o *Observation) { o.Reach = nil }, code: ReasonUnknownScope, subject: "a.demo"},
		"read too soon": {change: func(o *Observation) {
			o.Reach = map[string]concern.Reach{"a.demo": {}}
			o.Young = map[string]bool{"a.demo": true}
		}, code: ReasonUnknownScope, subject: "a.demo"},
		"late canary": {
			change: func(o *Observation) { row(o).Routes = acked(6, 9); o.Replicas[0].Canary.Routes.Initial = true },
			code:   ReasonNoPush, subject: "a.demo", renew: true,
		},
		"late canary, on its way": {
			change: func(o *Observation) { row(o).Routes.Acked = nonce(6, 9); o.Replicas[0].Canary.Routes.Initial = true },
			code:   ReasonBehind, subject: "a.demo",
		},
		"second row behind": {change: func(o *Observation) {
			c := o.Replicas[0].Reading.Connections
			o.Replicas[0].Reading.Connections = append(slices.Clone(c), syncz.Connection{Proxy: "a.demo", Routes: acked(6, 8)})
		}, code: ReasonBehind, subject: "a.demo"},
		"disconnected": {change: func(o *Observation) { o.Replicas[0].Reading.Connections = o.Replicas[0].Reading.Connections[1:] }, code: ReasonDisconnected, subject: "a.demo"},
		"starting": {change: func(o *Observation) {
			o.Pods = append(o.Pods, census.Pod{Namespace: "demo", Name: "b", Kind: census.KindSidecar, Phase: census.PhaseStarting})
		}, code: ReasonStarting, subject: "b.demo"},
		"no census": {change: func(o *Observation) { o.CensusKnown = false }, code: ReasonNoCensus},
		"no routes": {change: func(o *Observation) { o.Target.Generation = 0 }, code: ReasonNoRoutes},
		"no HTTP":   {change: func(o *Observation) { o.Target.Ports[0].Routed = false }, code: ReasonNoRoutes},
	} {
		t.Run(name, func(t *testing.T) {
			v := twice(tc.change)
			found := slices.ContainsFunc(v.Weights.Reasons, func(r Reason) bool { return r.Code == tc.code && r.Subject == tc.subject })
			if v.Weights.Level != LevelNone || !found || v.Weights.NeedsNewGeneration != tc.renew {
				t.Errorf("weights: %+v", v.Weights)
			}
		})
	}
}

// unsentAt looks every half a second at a proxy that was sent push 6 where the canary has push 7, and returns after how
// long a new generation is asked for; change makes of each look what it likes, given how often was looked.
func unsentAt(m Memory, most time.Duration, change func(int, *Observation)) (time.Duration, Memory) {
	for n := 0; ; n++ {
		at := time.Duration(n) * 500 * time.Millisecond
		o := scene(at)
		o.Replicas[0].Reading.Connections[0].Routes = acked(6, 9)
		o.Replicas[0].Canary.Routes.Initial = true
		change(n, &o)
		var v Verdict
		v, m = Evaluate(DefaultRules(), o, m)
		switch {
		case v.Weights.NeedsNewGeneration:
			return at, m
		case at > most:
			return -1, m
		}
	}
}

func TestAPushOnItsWayToProxiesIsWaitedForBeforeANewGenerationIsAskedFor(t *testing.T) {
	asIs := func(int, *Observation) {}
	for name, tc := range map[string]struct {
		change func(int, *Observation)
		want   time.Duration
	}{
		"the canary alone may have it": {change: asIs, want: 2 * time.Second},
		"it was made while we watched": {change: func(_ int, o *Observation) { o.Replicas[0].Canary.Routes.Initial = false }, want: 10 * time.Second},
		"each is followed by the next before it is everywhere": {change: func(n int, o *Observation) {
			o.Replicas[0].Canary.Routes.Push.Counter = uint64(7 + n/3)
			o.Replicas[0].Reading.Connections[0].Routes = acked(uint64(6+n/3), n/3)
		}, want: -1},
		"the canary asks time and again": {change: func(n int, o *Observation) { o.Replicas[0].Canary.Routes.Push.Counter = uint64(7 + n) }, want: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := unsentAt(Memory{}, 20*time.Second, tc.change); got != tc.want {
				t.Errorf("a new generation is asked for after %s, want %s", got, tc.want)
			}
		})
	}
}

// An istiod that needs longer for its pushes than a canary waits must not be made to push for ever.
func TestEachNewGenerationThatBroughtNoProofIsWaitedForLonger(t *testing.T) {
	var m Memory
	for n, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second} {
		var got time.Duration
		got, m = unsentAt(m, time.Minute, func(_ int, o *Observation) { o.Target.Generation = int64(2 + n) })
		if got != want {
			t.Errorf("generation %d: a new one is asked for after %s, want %s", 2+n, got, want)
		}
	}
	var v Verdict
	for _, at := range []time.Duration{time.Minute, 62 * time.Second} {
		o := scene(at)
		o.Target.Generation, o.Reach["a.demo"] = 7, concern.Reach{Cluster: true, Subsets: []string{fakeSubset}, Generations: []int64{7}}
		v, m = Evaluate(DefaultRules(), o, m)
	}
	if v.Weights.Level != LevelProven {
		t.Fatalf("weights: %+v", v.Weights)
	}
	if got, _ := unsentAt(m, time.Minute, func(_ int, o *Observation) { o.Target.Generation = 8 }); got != 2*time.Second {
		t.Errorf("after a proof a new generation is asked for after %s", got)
	}
}

func TestWhatDoesNotConcernAProofDoesNotBlockIt(t *testing.T) {
	row := func(o *Observation) *syncz.Connection { return &o.Replicas[0].Reading.Connections[0] }
	for name, change := range map[string]func(*Observation){
		"a later push":              func(o *Observation) { row(o).Routes = acked(9, 9) },
		"a newer push on its way":   func(o *Observation) { row(o).Routes.Sent = nonce(9, 9) },
		"endpoints refused":         func(o *Observation) { row(o).Endpoints.LastError = "no" },
		"a late canary that is met": func(o *Observation) { o.Replicas[0].Canary.Routes.Initial = true },
		"a failed read, for now": func(o *Observation) {
			if o.Now.After(evalStart) {
				o.Replicas[0].Fault = ReasonUnreachable
			}
		},
		"a proxy that does not see the host": func(o *Observation) {
			row(o).Routes = syncz.Status{}
			o.Reach = map[string]concern.Reach{"a.demo": {}}
		},
		"a pod that started since": func(o *Observation) {
			o.Settled = evalStart
			o.Pods = append(o.Pods, census.Pod{Namespace: "demo", Name: "b", Kind: census.KindSidecar, Phase: census.PhaseStarting, Created: evalStart})
		},
		"a gateway with its own routes": func(o *Observation) {
			o.Replicas[0].Reading.Connections = append(slices.Clone(o.Replicas[0].Reading.Connections), syncz.Connection{Proxy: "g.x", Routes: acked(1, 8)})
			o.Reach["g.x"] = concern.Reach{Cluster: true, Foreign: "route own"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if v := twice(change); v.Weights.Level != LevelProven || !v.Weights.Fresh {
				t.Errorf("weights: %+v", v.Weights)
			}
		})
	}
}

func TestTimedNeedsTheStatedTimeAndNothingElseInTheWay(t *testing.T) {
	denied := func(at time.Duration, change func(*Observation)) Level {
		o := scene(at)
		o.Replicas[0].Fault, o.Replicas[0].Reading = ReasonNoAccess, Reading{}
		change(&o)
		v, _ := Evaluate(DefaultRules(), o, Memory{})
		return v.Weights.Level
	}
	second := func(r Replica) func(*Observation) {
		return func(o *Observation) { o.Replicas = append(o.Replicas, r) }
	}
	for name, tc := range map[string]struct {
		at     time.Duration
		change func(*Observation)
		want   Level
	}{
		"too early":             {at: 29 * time.Second, change: func(*Observation) {}, want: LevelNone},
		"in time":               {at: 30 * time.Second, change: func(*Observation) {}, want: LevelTimed},
		"canary refused too":    {at: 30 * time.Second, change: func(o *Observation) { o.Replicas[0].Canary, o.Replicas[0].CanaryRefused = canary.Answer{}, true }, want: LevelTimed},
		"another replica stuck": {at: 30 * time.Second, change: second(Replica{Pod: IstiodPod{Name: "b"}, Fault: ReasonUnreachable}), want: LevelNone},
		"known to be stale":     {at: 30 * time.Second, change: func(o *Observation) { o.Replicas[0].Canary.Routes.Sight = canary.SightOld }, want: LevelNone},
		"no census":             {at: 30 * time.Second, change: func(o *Observation) { o.CensusKnown = false }, want: LevelNone},
	} {
		t.Run(name, func(t *testing.T) {
			if got := denied(tc.at, tc.change); got != tc.want {
				t.Errorf("level %s, want %s", got, tc.want)
			}
		})
	}
}

func TestFenceIsProvenByThePushOnlyWhereThereIsAnAddressToLookFor(t *testing.T) {
	late := func(fenced ...Address) Verdict {
		return twice(func(o *Observation) {
			o.Network = "n1"
			o.Target.Fenced = fenced
			o.Replicas[0].Canary.Fence.Initial = true
			o.Replicas[0].Reading.Connections[0].Endpoints = acked(6, 9)
		})
	}
	pod := netip.MustParseAddr("10.0.0.1")
	if v := late(); v.Fence.Level != LevelProven || v.Fence.NeedsNewGeneration {
		t.Errorf("nothing fenced: %+v", v.Fence)
	}
	if v := late(Address{IP: pod, Network: "n2"}); v.Fence.Level != LevelProven {
		t.Errorf("a pod of another network: %+v", v.Fence)
	}
	if v := late(Address{IP: pod, Network: "n1"}); v.Fence.Level != LevelNone || !v.Fence.NeedsNewGeneration {
		t.Errorf("a pod of this network: %+v", v.Fence)
	}
}

func TestAnotherQuestionStartsAnotherHold(t *testing.T) {
	_, m := Evaluate(DefaultRules(), scene(0), Memory{})
	o := scene(2 * time.Second)
	o.Target.Generation = 3
	v, _ := Evaluate(DefaultRules(), o, m)
	if v.Weights.Level == LevelProven || v.Fence.Level != LevelProven {
		t.Errorf("weights %s, fence %s: only the weights are asked anew", v.Weights.Level, v.Fence.Level)
	}
}

func TestListsAreBounded(t *testing.T) {
	rules := DefaultRules()
	rules.MaxProxies, rules.MaxReasons = 2, 3
	o := scene(0)
	for n := range 10 {
		name := fmt.Sprintf("p%d.demo", n)
		o.Replicas[0].Reading.Connections = append(o.Replicas[0].Reading.Connections, syncz.Connection{Proxy: name, Routes: acked(1, n)})
		o.Reach[name] = concern.Reach{Cluster: true, Generations: []int64{1}, Foreign: "own"}
		o.Pods = append(o.Pods, census.Pod{Namespace: "x", Name: name, Kind: census.KindSidecar, Phase: census.PhaseRunning})
	}
	v, _ := Evaluate(rules, o, Memory{})
	w := v.Weights
	if len(w.Istiods[0].Proxies) != 2 || len(w.Missing) != 2 || len(w.Unweighted) != 2 || len(w.Reasons) != 3 || w.Reasons[2].Code != ReasonTooMany {
		t.Errorf("lists of %d, %d, %d and %d: %+v", len(w.Istiods[0].Proxies), len(w.Missing), len(w.Unweighted), len(w.Reasons), w.Reasons)
	}
	if w.Istiods[0].Concerned != 11 || w.Istiods[0].Agreed != 1 {
		t.Errorf("counts are of all: %+v", w.Istiods[0])
	}
}

func TestAtRestOnlyWhatBlocksIsListed(t *testing.T) {
	v := twice(func(o *Observation) { o.Target.Active = false })
	if len(v.Weights.Istiods[0].Proxies) != 0 || v.Weights.Istiods[0].Agreed != 1 || v.Weights.Level != LevelProven {
		t.Errorf("%+v", v.Weights)
	}
}

func TestAddressesMeanPodsOfTheirNetworkAndGatewaysOfAllOthers(t *testing.T) {
	pod, gate, any := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.9.0.1"), netip.MustParseAddr("10.0.0.2")
	target := Target{Fenced: []Address{{IP: pod, Network: "n1"}, {IP: any}}, Gateways: []Address{{IP: gate, Network: "n1"}}}
	for network, want := range map[string][]netip.Addr{
		"n1": {pod, any}, "n2": {any, gate}, "": {pod, any, gate},
	} {
		if diff := cmp.Diff(want, target.absent(network), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Errorf("on network %q (-want +got):\n%s", network, diff)
		}
	}
}
