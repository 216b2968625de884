// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weir-io/weir/mesh/prover/census"
	"github.com/weir-io/weir/mesh/prover/concern"
)

// one is a mesh of one istiod, with the canary on it, and one sidecar. Nothing happens in it by itself.
func one(t *testing.T, keep bool) (*sim, *simIstiod, *fakeProxy) {
	t.Helper()
	s := &sim{t: t, r: rand.New(rand.NewPCG(1, 17)), keep: keep, now: simStart, dumps: map[string]concern.Reach{}}
	s.target = Target{
		Namespace: "demo", Name: "echo", Hosts: []string{fakeHost}, Generation: 1,
		Ports: []Port{{Number: fakePort, Routed: true}}, Subsets: []string{fakeSubset}, Active: true,
	}
	s.addIstiod(0, 1)
	s.addProxy(0, kindWeighted, census.PhaseRunning)
	s.openCanary(s.istiods[0])
	s.serveCanary(s.istiods[0])
	return s, s.istiods[0], s.proxies[0]
}

// serveCanary has the canary take what is pending for it, and open another stream where the ledger refuses.
func (s *sim) serveCanary(i *simIstiod) {
	i.conn.process()
	for len(i.inbox) > 0 {
		r := i.inbox[0]
		i.inbox = i.inbox[1:]
		if err := i.ledger.Apply(r); err != nil {
			i.disconnect(i.conn)
			s.openCanary(i)
			continue
		}
		i.conn.answer(r.GetTypeUrl(), r.GetNonce(), "")
	}
}

func serveProxy(p *fakeProxy) {
	p.conn.process()
	for range 8 {
		p.step()
	}
}

// pushed is a push of these endpoints, which the canary has at once.
func (s *sim) pushed(i *simIstiod, addresses []netip.Addr) {
	i.observe(0, addresses)
	i.push()
	s.serveCanary(i)
}

// never looks for five minutes, in which the fence must not be proven.
func (s *sim) never(i *simIstiod) Verdict {
	s.t.Helper()
	var v Verdict
	for range 600 {
		s.now = s.now.Add(500 * time.Millisecond)
		s.serveCanary(i)
		if v = s.look(); v.Fence.Level == LevelProven {
			s.t.Fatalf("proven after %s, measured against %s: %v", s.now.Sub(simStart), v.Fence.Istiods[0].Push, s.lies)
		}
	}
	return v
}

func butFirst() []netip.Addr { return simAddresses(6)[1:] }

// A push that was made while a service was not watched is under no version that is known, and a slow proxy may not have it.
func TestAPushThatWasMissedWhileAServiceWasNotWatchedIsNotTakenForAnother(t *testing.T) {
	for name, saw := range map[string]bool{"the canary was sent the push before": true, "the canary was sent none": false} {
		t.Run(name, func(t *testing.T) {
			s, i, p := one(t, false)
			routes, clusters := subscriptions([]Target{s.target})
			if !saw {
				i.subscribe(routes, nil)
				s.serveCanary(i)
			}
			s.pushed(i, simAddresses(6))
			serveProxy(p)
			i.subscribe(routes, nil)
			s.serveCanary(i)
			p.held = true
			s.target.Fenced, s.target.FenceGeneration = []Address{{IP: simAddresses(6)[0]}}, 1
			s.pushed(i, butFirst())
			serveProxy(p)
			i.subscribe(routes, clusters)
			if v := s.never(i); !v.Fence.NeedsNewGeneration {
				t.Errorf("nothing asks for a push that would tell: %v", v.Fence.Reasons)
			}
			p.held = false
			s.pushed(i, butFirst())
			serveProxy(p)
			for range 6 {
				s.now = s.now.Add(500 * time.Millisecond)
				serveProxy(p)
				if s.look().Fence.Level == LevelProven {
					return
				}
			}
			t.Error("it is not proven after a push that everybody has")
		})
	}
}

// Between two looks a fence was opened and written again. What was seen of the first says nothing of the second.
func TestWhatWasSeenByContentDoesNotOutliveAFenceThatWasOpened(t *testing.T) {
	s, i, p := one(t, true)
	s.target.Fenced, s.target.FenceGeneration = []Address{{IP: simAddresses(6)[0]}}, 1
	later := func() { s.now = s.now.Add(1100 * time.Millisecond) }
	for range 3 {
		s.pushed(i, butFirst())
		later()
		serveProxy(p)
		later()
		s.look()
	}
	s.pushed(i, simAddresses(6))
	later()
	serveProxy(p)
	later()
	s.target.FenceGeneration += 2
	s.pushed(i, butFirst()) // of which the proxy is sent nothing: its stream is stuck
	s.never(i)
}

// An istiod of an older version gives two answers the same version, and only the first may be acknowledged.
func TestEqualVersionsProveNothingWhereAnIstiodKeepsThem(t *testing.T) {
	for keeps, want := range map[bool]Level{false: LevelProven, true: LevelNone} {
		v := twice(func(o *Observation) {
			o.Target.Fenced = []Address{{IP: netip.MustParseAddr("10.0.0.1")}}
			o.Replicas[0].Keeps = keeps
			row := &o.Replicas[0].Reading.Connections[0]
			row.Endpoints.Sent, row.Endpoints.Acked = nonce(7, 2), nonce(7, 1)
		})
		if v.Fence.Level != want {
			t.Errorf("keeps %t: %+v", keeps, v.Fence)
		}
	}
}

// Where pods come and go, the addresses that are asked about change all the time. What a proxy waits for does not.
func TestAPodThatComesOrGoesElsewhereDoesNotStartPatienceAnew(t *testing.T) {
	var m Memory
	generation, last, written := int64(1), time.Duration(0), 0
	for at := time.Duration(0); at < 5*time.Minute; at += 500 * time.Millisecond {
		o := scene(at)
		o.Target.FenceGeneration, o.Network = generation, "here"
		o.Target.Fenced = []Address{{IP: netip.MustParseAddr("10.9.9.9")}}
		// The second is of this network, the first of another.
		n := byte(at / (2 * time.Second))
		o.Target.Served = []Address{{IP: netip.AddrFrom4([4]byte{10, 3, 0, n}), Network: "elsewhere"}, {IP: netip.AddrFrom4([4]byte{10, 4, 0, n})}}
		o.Replicas[0].Reading.Connections[0].Endpoints = acked(6, 9)
		o.Replicas[0].Canary.Fence.Initial = true
		var v Verdict
		v, m = Evaluate(DefaultRules(), o, m)
		if v.Fence.NeedsNewGeneration && at-last > 6*time.Second { // as the hub takes it
			generation, last, written = generation+1, at, written+1
		}
	}
	// 2, 4, 8, 16 and then each 30 s, of which the first two are shorter than what the hub waits.
	if written < 10 {
		t.Errorf("the plan was written anew %d times in five minutes, in which it proved nothing", written)
	}
}

func TestAProxyOfAnotherNetworkIsAskedAboutNothingThatChangesElsewhere(t *testing.T) {
	target := Target{Fenced: []Address{{IP: netip.MustParseAddr("10.0.0.1"), Network: "a"}}}
	other := target
	other.Fenced = slices.Concat(target.Fenced, []Address{{IP: netip.MustParseAddr("10.0.0.2"), Network: "b"}})
	if fenceClaim(target, "a").question != fenceClaim(other, "a").question || fenceClaim(target, "b").question == fenceClaim(other, "b").question {
		t.Error("a question is of the addresses that mean something to a proxy")
	}
}
