// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/weir-io/weir/mesh/prover/canary"
	"github.com/weir-io/weir/mesh/prover/census"
	"github.com/weir-io/weir/mesh/prover/concern"
	"github.com/weir-io/weir/mesh/prover/syncz"
)

// sim plays one seeded schedule in virtual time: the pure half of the prover
// against fake istiods and proxies, with no socket and no goroutine.
type sim struct {
	t    *testing.T
	r    *rand.Rand
	keep bool
	now  time.Time

	istiods  []*simIstiod
	proxies  []*fakeProxy
	target   Target
	memory   Memory
	asked    Asked
	settled  since
	restarts int
	proofs   struct{ weights, fence int }
	fair     bool
	dumps    map[string]concern.Reach
	mutate   func(*Rules, *Observation)
	lies     []string
}

// simIstiod is a replica with the prover's canary on it.
type simIstiod struct {
	*fakeIstiod
	unseen  time.Time // when the store last changed, if not yet observed
	dueAt   time.Time // when the debounce ends
	conn    *fakeConn
	ledger  canary.Ledger
	inbox   []*discovery.DiscoveryResponse
	stream  uint64
	last    Reading
	fault   ReasonCode
	canWait time.Time // when the canary must have been served
}

var simStart = time.Date(2026, 8, 27, 12, 0, 0, 0, time.UTC)

func simAddresses(n int) []netip.Addr {
	out := make([]netip.Addr, n)
	for i := range out {
		out[i] = netip.AddrFrom4([4]byte{10, 2, 0, byte(i + 1)})
	}
	return out
}

func newSim(t *testing.T, seed uint64, keep bool) *sim {
	t.Helper()
	s := &sim{t: t, r: rand.New(rand.NewPCG(seed, 17)), keep: keep, now: simStart, dumps: map[string]concern.Reach{}}
	s.target = Target{
		Namespace: "demo", Name: "echo", Hosts: []string{fakeHost}, Generation: 1,
		Ports: []Port{{Number: fakePort, Routed: true}}, Subsets: []string{fakeSubset}, Active: true,
	}
	for n := range 1 + s.r.IntN(2) {
		s.addIstiod(n, 1)
	}
	kinds := []proxyKind{kindWeighted, kindWeighted, kindWeighted, kindForeign, kindHidden}
	for n := range 2 + s.r.IntN(4) {
		s.addProxy(n, kinds[s.r.IntN(len(kinds))], census.PhaseRunning)
	}
	return s
}

func (s *sim) clock() time.Time { return s.now }

func (s *sim) addIstiod(n int, generation int64) {
	f := newFakeIstiod(fmt.Sprintf("istiod-%d", n), fmt.Sprintf("uid-%d-%d", n, s.restarts), s.clock, generation, simAddresses(6))
	f.keep = s.keep
	i := &simIstiod{fakeIstiod: f}
	if n < len(s.istiods) {
		s.istiods[n] = i
		return
	}
	s.istiods = append(s.istiods, i)
}

func (s *sim) addProxy(n int, kind proxyKind, phase census.Phase) {
	p := &fakeProxy{kind: kind, pod: census.Pod{
		Namespace: "demo", Name: fmt.Sprintf("p%d", n), UID: fmt.Sprint(n),
		Kind: census.KindSidecar, Phase: phase, Created: s.now, Labels: map[string]string{"kind": fmt.Sprint(kind)},
	}}
	s.proxies = append(s.proxies, p)
	if phase == census.PhaseRunning {
		p.connect(s.istiods[s.r.IntN(len(s.istiods))].fakeIstiod)
		for range 4 {
			p.step()
		}
	}
}

// chance is true in about one of n calls.
func (s *sim) chance(n int) bool { return s.r.IntN(n) == 0 }

// fencedNow are the endpoints that are left in the store.
func (s *sim) left() []netip.Addr {
	out := slices.Clone(simAddresses(6))
	return slices.DeleteFunc(out, func(a netip.Addr) bool {
		return slices.Contains(s.target.Fenced, Address{IP: a})
	})
}

// write changes the store, as the hub would.
func (s *sim) write() {
	if s.chance(2) {
		s.target.Generation++
	} else {
		s.target.FenceGeneration++
		if n := len(s.target.Fenced); n < 4 {
			s.target.Fenced = append(slices.Clone(s.target.Fenced), Address{IP: simAddresses(6)[n]})
		}
	}
	s.wrote()
}

func (s *sim) wrote() {
	for _, i := range s.istiods {
		i.unseen = s.now.Add(time.Duration(1+s.r.IntN(400*s.slow())) * time.Millisecond)
	}
	s.asked = Asked{Rules: s.now, Weights: s.now, Fence: s.now}
}

// slow is by how much chaos stretches what is not bounded.
func (s *sim) slow() int {
	if s.fair {
		return 1
	}
	return 1 + s.r.IntN(20)
}

// tick lets everything that can happen in a moment happen or not.
func (s *sim) tick() {
	s.now = s.now.Add(time.Duration(5+s.r.IntN(40)) * time.Millisecond)
	for n := range s.istiods {
		s.tickIstiod(n)
	}
	for _, p := range s.proxies {
		if s.chance(2) {
			p.step()
		}
		if c := p.conn; c != nil && s.chance(3) {
			c.process()
		}
	}
	if !s.fair {
		s.disturb()
	}
}

func (s *sim) tickIstiod(n int) {
	i := s.istiods[n]
	if !i.unseen.IsZero() && !s.now.Before(i.unseen) {
		i.unseen = time.Time{}
		i.observe(s.target.Generation, s.left())
		if i.dueAt.IsZero() {
			i.dueAt = s.now.Add(time.Duration(100+s.r.IntN(600)) * time.Millisecond)
		}
	}
	if !i.dueAt.IsZero() && !s.now.Before(i.dueAt) {
		i.dueAt = time.Time{}
		i.push()
		i.canWait = s.now.Add(500 * time.Millisecond)
	}
	s.tickCanary(i)
}

// tickCanary serves the canary, at the latest half a second after a push: the
// stated bound within which the hold covers that endpoints are read late.
func (s *sim) tickCanary(i *simIstiod) {
	if i.conn == nil {
		if s.chance(10) {
			s.openCanary(i)
		}
		return
	}
	if late := !i.canWait.IsZero() && s.now.After(i.canWait); late || s.chance(3) {
		i.conn.process()
	}
	for len(i.inbox) > 0 {
		r := i.inbox[0]
		i.inbox = i.inbox[1:]
		if err := i.ledger.Apply(r); err != nil {
			s.t.Fatalf("canary of %s: %v", i.name, err)
		}
		i.conn.answer(r.GetTypeUrl(), r.GetNonce(), "")
	}
}

func (s *sim) openCanary(i *simIstiod) {
	s.restarts++
	i.stream = uint64(s.restarts)
	i.ledger = canary.Ledger{}
	i.inbox = nil
	i.conn = i.connect("weir-canary-a.istio-system", kindWeighted, true, func(a fakeAnswer) {
		i.inbox = append(i.inbox, a.encoded)
	})
	routes, clusters := subscriptions([]Target{s.target})
	i.subscribe(routes, clusters)
}

func (i *simIstiod) subscribe(routes, clusters []string) {
	i.ledger.Retain(slices.Concat(routes, clusters)...)
	i.conn.request(&discovery.DiscoveryRequest{TypeUrl: canary.TypeEndpoints, ResourceNames: clusters})
	i.conn.request(&discovery.DiscoveryRequest{TypeUrl: canary.TypeRoutes, ResourceNames: routes})
}

// alone has the canary be answered alone: because its pod has changed, or because it asks anew.
func (s *sim) alone(i *simIstiod) {
	switch {
	case i.conn == nil:
	case s.chance(2):
		i.conn.update()
	default:
		routes, clusters := subscriptions([]Target{s.target})
		i.subscribe(routes[:s.r.IntN(len(routes))], clusters[:s.r.IntN(len(clusters))])
		i.subscribe(routes, clusters)
	}
}

// disturb is the bad luck of a moment.
func (s *sim) disturb() {
	p := s.proxies[s.r.IntN(len(s.proxies))]
	i := s.istiods[s.r.IntN(len(s.istiods))]
	switch s.r.IntN(900) {
	case 0, 1:
		p.held = !p.held
	case 2, 3:
		p.refuse = !p.refuse
	case 4:
		p.disconnect()
	case 5, 6:
		if p.pod.Phase == census.PhaseRunning {
			p.connect(i.fakeIstiod)
		}
	case 7:
		if i.conn != nil {
			i.disconnect(i.conn)
			i.conn = nil
		}
	case 8:
		s.restart(i)
	case 9:
		if len(s.proxies) < 9 {
			s.addProxy(len(s.proxies), kindWeighted, census.PhaseStarting)
		}
	case 10:
		// A pod that was starting got rules from whoever was there.
		if p.pod.Phase == census.PhaseStarting {
			p.pod.Phase = census.PhaseRunning
			p.connect(i.fakeIstiod)
		}
	case 11:
		i.fault = ReasonUnreachable
	case 12, 13:
		i.fault = ""
	case 14, 15:
		s.write()
	case 16, 17, 18, 19, 20, 21:
		// Something else about the service's endpoints changes.
		i.observe(0, slices.Collect(maps.Keys(i.index)))
		if i.dueAt.IsZero() {
			i.dueAt = s.now.Add(100 * time.Millisecond)
		}
	case 22, 23, 24, 25:
		s.alone(i)
	case 26, 27:
		if p.conn != nil {
			p.conn.update()
		}
	}
}

// restart replaces a replica by a new process, whose informers may start from
// what is old. All of its proxies lose their streams and keep what they have.
func (s *sim) restart(i *simIstiod) {
	n := slices.Index(s.istiods, i)
	s.restarts++
	old := max(1, s.target.Generation-int64(s.r.IntN(2)))
	for _, p := range s.proxies {
		if p.conn != nil && p.conn.istiod == i.fakeIstiod {
			p.disconnect()
		}
	}
	s.addIstiod(n, old)
	s.istiods[n].unseen = s.now.Add(time.Duration(s.r.IntN(3000)) * time.Millisecond)
	if s.chance(2) {
		// A container that restarts in its pod: the same name and UID, and
		// for a moment its debug port is not there yet.
		s.istiods[n].uid, s.istiods[n].last, s.istiods[n].fault = i.uid, i.last, ReasonUnreachable
	}
	for _, p := range s.proxies {
		if p.conn == nil && p.pod.Phase == census.PhaseRunning && s.chance(2) {
			p.connect(s.istiods[n].fakeIstiod)
		}
	}
}

// look reads and judges, and holds the verdict against the truth.
func (s *sim) look() Verdict {
	o := Observation{
		Now: s.now, Target: s.target, Asked: s.asked, Namespace: "istio-system", CensusKnown: true,
		Reach: map[string]concern.Reach{},
	}
	all, of := true, fmt.Sprint(s.target)
	q := s.target.query("")
	for _, i := range s.istiods {
		s.read(i)
		rep := Replica{Pod: IstiodPod{Name: i.name, UID: i.uid}, Keeps: s.keep, Reading: i.last, Fault: i.fault}
		rep.Canary = canary.Answer{}
		if i.conn != nil {
			rep.Canary = i.ledger.Ask(q)
			rep.Canary.Stream = i.stream
		}
		all = all && carries(s.target, rep.Canary) && rep.Canary.Fence.Sight == canary.SightNew
		of += fmt.Sprint(i.uid, i.stream)
		o.Replicas = append(o.Replicas, rep)
		s.reach(i, o.Reach)
	}
	s.settled.note(all, of, s.now)
	if all {
		o.Settled = s.settled.at.Add(skew)
	}
	for _, p := range s.proxies {
		o.Pods = append(o.Pods, p.pod)
	}
	var v Verdict
	rules := DefaultRules()
	if s.mutate != nil {
		s.mutate(&rules, &o)
	}
	v, s.memory = Evaluate(rules, o, s.memory)
	s.check(v)
	return v
}

func (s *sim) read(i *simIstiod) {
	if i.fault != "" {
		return
	}
	list, err := syncz.Decode(bytes.NewReader(i.syncz()), 100)
	if err != nil {
		s.t.Fatal(err)
	}
	reading := Reading{Began: s.now, Ended: s.now, Connections: list}
	for _, c := range list {
		if c.Proxy == "weir-canary-a.istio-system" && i.conn != nil &&
			(i.ledger.Received(c.Endpoints.Sent.ID) || i.ledger.Received(c.Routes.Sent.ID)) {
			reading.Stream, reading.Canary = i.stream, c.Endpoints
		}
	}
	i.last = reading
}

// reach reads the configuration of every proxy on the replica.
func (s *sim) reach(i *simIstiod, into map[string]concern.Reach) {
	for _, c := range i.last.Connections {
		dump := i.dump(c.Proxy)
		if dump == nil {
			continue
		}
		reach, ok := s.dumps[string(dump)]
		if !ok {
			found, err := concern.Read(bytes.NewReader(dump), s.target.Hosts)
			if err != nil {
				s.t.Fatal(err)
			}
			reach = found[fakeHost]
			s.dumps[string(dump)] = reach
		}
		into[c.Proxy] = reach
	}
}

func (s *sim) check(v Verdict) {
	weights := v.Weights.Level == LevelProven
	fence := v.Fence.Level == LevelProven
	if weights {
		s.proofs.weights++
	}
	if fence {
		s.proofs.fence++
	}
	var ips []netip.Addr
	for _, a := range s.target.Fenced {
		ips = append(ips, a.IP)
	}
	for _, p := range s.proxies {
		w, f := p.lies(s.target.Generation, ips)
		if weights && w {
			s.lie("at %s weights of generation %d are said to be proven, and %s uses %d", s.now.Sub(simStart), s.target.Generation, p.pod.Proxy(), p.generation)
		}
		if fence && f {
			s.lie("at %s the fence is said to be proven, and %s holds %v", s.now.Sub(simStart), p.pod.Proxy(), p.addresses)
		}
	}
}

func (s *sim) lie(format string, args ...any) { s.lies = append(s.lies, fmt.Sprintf(format, args...)) }

// settle ends all bad luck, does as the hub would, waits for the proofs, and says what stands against them in the end; empty:
// nothing.
func (s *sim) settle() string {
	s.fair = true
	for _, i := range s.istiods {
		i.fault = ""
	}
	for n, p := range s.proxies {
		p.held, p.refuse = false, false
		p.pod.Phase = census.PhaseRunning
		if p.conn == nil {
			p.connect(s.istiods[n%len(s.istiods)].fakeIstiod)
		}
	}
	s.wrote()
	end := s.now.Add(2 * time.Minute)
	next := s.now
	var v Verdict
	for renewed := s.now; s.now.Before(end); s.tick() {
		if s.now.Before(next) {
			continue
		}
		next = s.now.Add(500 * time.Millisecond)
		v = s.look()
		if v.Weights.Level == LevelProven && v.Fence.Level == LevelProven {
			return ""
		}
		// A refusal lasts until something is sent again.
		refused := func(r Reason) bool { return r.Code == ReasonRefused }
		weights := v.Weights.NeedsNewGeneration || slices.ContainsFunc(v.Weights.Reasons, refused)
		fence := v.Fence.NeedsNewGeneration || slices.ContainsFunc(v.Fence.Reasons, refused)
		if s.now.Sub(renewed) > 4*time.Second && (weights || fence) {
			if weights {
				s.target.Generation++
			}
			if fence {
				s.target.FenceGeneration++
			}
			// The second label: what is served stays, and is pushed again.
			for _, i := range s.istiods {
				i.unseen = s.now.Add(time.Millisecond)
			}
			renewed = s.now
		}
	}
	return fmt.Sprintf("not proven two minutes after the last fault: weights %v, fence %v", v.Weights.Reasons, v.Fence.Reasons)
}

// chaos plays a minute of bad luck.
func (s *sim) chaos() {
	next := s.now
	for s.now.Sub(simStart) < time.Minute && len(s.lies) == 0 {
		s.tick()
		if !s.now.Before(next) {
			s.look()
			next = s.now.Add(time.Duration(100+s.r.IntN(900)) * time.Millisecond)
		}
	}
}
