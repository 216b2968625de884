// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-io/weir/mesh/prover/canary"
	"github.com/weir-io/weir/mesh/prover/census"
	"github.com/weir-io/weir/mesh/prover/quiet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testHold stands in for the two seconds between two looks.
const testHold = 200 * time.Millisecond

// mesh is a member with one istiod, its proxies, and a prover that runs.
type mesh struct {
	t       *testing.T
	ca      authority
	server  *istiodServer
	proxies []*fakeProxy
	prover  *Prover
	target  Target

	mu     sync.Mutex
	snap   Snapshot
	broken error
}

func (m *mesh) Snapshot(context.Context) (Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.snap, m.broken
}

// change changes what the member's API server shows.
func (m *mesh) change(f func(*Snapshot)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := m.snap
	next.Pods, next.Istiods = slices.Clone(next.Pods), slices.Clone(next.Istiods)
	f(&next)
	m.snap = next
}

func newMesh(t *testing.T, options ...func(*Config)) *mesh {
	t.Helper()
	m := &mesh{t: t, ca: newAuthority(t, serverName)}
	fake := newFakeIstiod("istiod-0", "uid-0", time.Now, 1, simAddresses(4))
	m.server = serve(t, fake, m.ca, "127.0.0.1:0")
	m.snap.Istiods = []IstiodPod{m.server.pod}
	for n, kind := range []proxyKind{kindWeighted, kindWeighted, kindForeign, kindHidden} {
		name := "p" + strconv.Itoa(n)
		p := &fakeProxy{kind: kind, pod: census.Pod{
			Namespace: "demo", Name: name, UID: name, Kind: census.KindSidecar,
			Phase: census.PhaseRunning, Labels: map[string]string{"kind": strconv.Itoa(int(kind))}, Created: time.Now().Add(-time.Hour),
		}}
		m.proxies = append(m.proxies, p)
		m.snap.Pods = append(m.snap.Pods, p.pod)
		p.connect(fake)
	}
	m.target = Target{
		Namespace: "demo", Name: "echo", Hosts: []string{fakeHost}, Generation: 1,
		Ports: []Port{{Number: fakePort, Routed: true}}, Subsets: []string{fakeSubset}, Active: true,
	}
	cfg := Config{
		Cluster: m, Credentials: fakeCredentials{ca: m.ca, token: testToken},
		Place:          canary.Place{Name: "a", Namespace: "istio-system", IP: netip.MustParseAddr("127.0.0.1"), ClusterID: "c1", Version: "1.31.0"},
		Rules:          DefaultRules(),
		ActiveInterval: 50 * time.Millisecond, IdleInterval: 50 * time.Millisecond, QuietInterval: 20 * time.Millisecond,
	}
	cfg.Rules.Hold = testHold
	for _, o := range options {
		o(&cfg)
	}
	var err error
	if m.prover, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { m.prover.Run(ctx) })
	wg.Go(func() { m.live(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	m.watch()
	return m
}

// live lets istiod and proxies do their work, as they would at their own pace.
func (m *mesh) live(ctx context.Context) {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		m.mu.Lock()
		fake, proxies := m.server.fake, slices.Clone(m.proxies)
		m.mu.Unlock()
		fake.push()
		fake.mu.Lock()
		conns := slices.Clone(fake.conns)
		fake.mu.Unlock()
		for _, c := range conns {
			c.process()
		}
		for _, p := range proxies {
			p.step()
		}
	}
}

func (m *mesh) watch() {
	m.t.Helper()
	if err := m.prover.Watch([]Target{m.target}); err != nil {
		m.t.Fatal(err)
	}
}

// write changes rules and endpoints, and asks for their proof.
func (m *mesh) write(generation int64, fenced ...netip.Addr) {
	m.t.Helper()
	m.target.Generation = generation
	m.target.Fenced = nil
	left := simAddresses(4)
	for _, ip := range fenced {
		m.target.Fenced = append(m.target.Fenced, Address{IP: ip})
		left = slices.DeleteFunc(left, func(a netip.Addr) bool { return a == ip })
	}
	m.target.FenceGeneration++
	m.server.fake.observe(generation, left)
	m.watch()
}

// until waits for a verdict of the present questions that is as wanted.
func (m *mesh) until(what string, wanted func(Verdict) bool) Verdict {
	m.t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		for _, v := range m.prover.Verdicts() {
			if v.Generation == m.target.Generation && v.FenceGeneration == m.target.FenceGeneration && wanted(v) {
				return v
			}
		}
		select {
		case <-m.prover.Changed():
		case <-deadline:
			m.t.Fatalf("never seen: %s; last %+v", what, m.prover.Verdicts())
		}
	}
}

func proven(v Verdict) bool {
	return v.Rules.Level == LevelProven && v.Weights.Level == LevelProven && v.Fence.Level == LevelProven
}

func blockedBy(code ReasonCode, subject string) func(Verdict) bool {
	return func(v Verdict) bool {
		return v.Weights.Level == LevelNone && slices.ContainsFunc(v.Weights.Reasons, func(r Reason) bool {
			return r.Code == code && r.Subject == subject
		})
	}
}

func TestWriteIsProvenOnEveryProxyAndTheEvidenceIsListed(t *testing.T) {
	m := newMesh(t)
	m.write(2, simAddresses(4)[0])
	v := m.until("all proven", proven)
	if !v.Weights.Fresh || len(v.Weights.Istiods) != 1 || v.Weights.Istiods[0].Push == "" || v.Weights.Istiods[0].UID != "uid-0" {
		t.Errorf("weights: %+v", v.Weights)
	}
	var names []string
	for _, p := range v.Weights.Istiods[0].Proxies {
		names = append(names, p.Name)
		if !p.OK || p.Acked == "" {
			t.Errorf("%+v", p)
		}
	}
	if want := []string{"p0.demo", "p1.demo"}; !slices.Equal(names, want) {
		t.Errorf("weights bind %v, want %v", names, want)
	}
	if got := len(v.Fence.Istiods[0].Proxies); got != 3 {
		t.Errorf("the fence binds %d proxies, want the gateway too", got)
	}
	if len(v.Weights.Unweighted) != 1 || v.Weights.Unweighted[0].Proxy != "p2.demo" {
		t.Errorf("unweighted: %+v", v.Weights.Unweighted)
	}
	for _, p := range m.proxies {
		if w, f := p.lies(2, simAddresses(4)[:1]); w || f {
			t.Errorf("%s was not there yet", p.pod.Proxy())
		}
	}
}

func TestHeldProxyIsNamedAndGoesOnByItself(t *testing.T) {
	m := newMesh(t)
	m.until("the first proof of the fence", func(v Verdict) bool { return v.Fence.Level == LevelProven })
	p := m.proxies[1]
	p.mu.Lock()
	p.held = true
	p.mu.Unlock()
	m.write(2)
	m.until("p1 named", blockedBy(ReasonBehind, "p1.demo"))
	p.mu.Lock()
	p.held = false
	p.mu.Unlock()
	m.until("all proven", proven)
}

func TestRefusingProxyIsNamed(t *testing.T) {
	m := newMesh(t)
	p := m.proxies[0]
	p.mu.Lock()
	p.refuse = true
	p.mu.Unlock()
	m.write(2)
	m.until("p0 named", blockedBy(ReasonRefused, "p0.demo"))
}

func TestProxyThatIsConnectedNowhereIsNamed(t *testing.T) {
	m := newMesh(t)
	m.write(2)
	m.until("all proven", proven)
	m.proxies[0].disconnect()
	v := m.until("p0 named", blockedBy(ReasonDisconnected, "p0.demo"))
	if len(v.Weights.Missing) != 1 || v.Weights.Missing[0].Reason != census.ReasonDisconnected {
		t.Errorf("missing: %+v", v.Weights.Missing)
	}
	m.change(func(s *Snapshot) { s.Pods[0].Phase = census.PhaseDone })
	m.until("all proven without it", proven)
}

func TestRestartedIstiodVoidsTheProofUntilANewGeneration(t *testing.T) {
	m := newMesh(t)
	m.write(2)
	m.until("all proven", proven)
	old := m.server
	old.stop()
	for _, p := range m.proxies {
		p.disconnect()
	}
	fake := newFakeIstiod("istiod-0", "uid-0", time.Now, 1, simAddresses(4))
	next := serve(t, fake, m.ca, old.pod.XDS)
	m.mu.Lock()
	m.server = next
	m.mu.Unlock()
	for _, p := range m.proxies {
		p.connect(fake)
	}
	m.change(func(s *Snapshot) { s.Istiods = []IstiodPod{next.pod} })
	// The new process still serves the generation before.
	m.until("the stale replica named", blockedBy(ReasonStaleReplica, "istiod-0"))
	m.write(3)
	m.until("the new generation proven", proven)
}

func TestLateCanaryAsksForANewGeneration(t *testing.T) {
	m := newMesh(t)
	m.until("the first proof of the fence", func(v Verdict) bool { return v.Fence.Level == LevelProven })
	// A push that the proxies are not sent: they stay at the one before, and
	// a canary that comes now sees only the later one.
	late := newFakeIstiod("istiod-1", "uid-1", time.Now, 1, simAddresses(4))
	p := &fakeProxy{kind: kindWeighted, pod: census.Pod{Namespace: "demo", Name: "late", UID: "late", Kind: census.KindSidecar, Phase: census.PhaseRunning}}
	p.connect(late)
	for range 4 {
		p.step()
	}
	late.mu.Lock()
	late.nextContext()
	late.mu.Unlock()
	server := serve(t, late, m.ca, "127.0.0.1:0")
	m.change(func(s *Snapshot) { s.Istiods = append(s.Istiods, server.pod); s.Pods = append(s.Pods, p.pod) })
	m.until("the need of a new generation", func(v Verdict) bool {
		return v.Weights.NeedsNewGeneration && blockedBy(ReasonNoPush, "late.demo")(v)
	})
}

func TestWithoutAccessTheProofIsTimedAndSaysSo(t *testing.T) {
	m := newMesh(t, func(c *Config) { c.Rules.TimedAfter = 100 * time.Millisecond })
	m.write(2)
	m.until("all proven", proven)
	m.server.refuse.Store(http.StatusForbidden)
	m.write(3)
	v := m.until("timed", func(v Verdict) bool { return v.Weights.Level == LevelTimed })
	if len(v.Weights.Reasons) == 0 || v.Weights.Reasons[0].Code != ReasonNoAccess || v.Weights.Reasons[0].Subject != "istiod-0" {
		t.Errorf("reasons: %+v", v.Weights.Reasons)
	}
}

func TestWrongRootOrTokenNeverConnects(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"another root": func(c *Config) {
			c.Credentials = fakeCredentials{ca: newAuthority(t, serverName), token: testToken}
		},
		"another name":  func(c *Config) { c.ServerName = "istiod.elsewhere.svc" },
		"another token": func(c *Config) { c.Credentials = fakeCredentials{ca: c.Credentials.(fakeCredentials).ca, token: "x"} },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMesh(t, change)
			m.until("a replica that is not watched", func(v Verdict) bool {
				return len(v.Weights.Reasons) > 0 && slices.Contains([]ReasonCode{ReasonNoCanary, ReasonNoAccess}, v.Weights.Reasons[0].Code) && !v.Weights.Fresh
			})
		})
	}
}

func TestUnlistedPodsBlockEveryProof(t *testing.T) {
	m := newMesh(t)
	m.write(2)
	m.until("all proven", proven)
	m.mu.Lock()
	m.broken = errors.New("no API server")
	m.mu.Unlock()
	m.until("the census missing", blockedBy(ReasonNoCensus, ""))
}

func TestQuietIsMeasuredAtTheServersSide(t *testing.T) {
	var requests syncCounter
	stats := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`envoy_http_downstream_rq_total{http_conn_manager_prefix="inbound_0.0.0.0_8080"} ` + requests.text() + "\n"))
	}))
	defer stats.Close()
	_, port, err := net.SplitHostPort(stats.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	m := newMesh(t, func(c *Config) { c.StatsPort, err = strconv.Atoi(port) })
	if err != nil {
		t.Fatal(err)
	}
	m.change(func(s *Snapshot) {
		s.Pods = append(s.Pods,
			census.Pod{Namespace: "demo", Name: "server", UID: "1", Kind: census.KindSidecar, Phase: census.PhaseTerminating, IP: netip.MustParseAddr("127.0.0.1"), Labels: map[string]string{"app": "echo"}},
			census.Pod{Namespace: "demo", Name: "bare", UID: "2", Kind: census.KindNone, Phase: census.PhaseRunning, IP: netip.MustParseAddr("127.0.0.1"), Labels: map[string]string{"app": "echo"}},
			census.Pod{Namespace: "other", Name: "same-label", UID: "3", Kind: census.KindNone, Phase: census.PhaseRunning, Labels: map[string]string{"app": "echo"}})
	})
	m.target.Selector = map[string]string{"app": "echo"}
	m.watch()
	is := func(state quiet.State, arrivals uint64) func(Verdict) bool {
		return func(v Verdict) bool {
			return len(v.Quiet) == 2 && v.Quiet[0].Name == "bare" && v.Quiet[0].State == quiet.StateNotMeasured &&
				v.Quiet[1].Name == "server" && v.Quiet[1].State == state && v.Quiet[1].Arrivals == arrivals
		}
	}
	m.until("quiet", is(quiet.StateTwice, 0))
	requests.add()
	m.until("an arrival", func(v Verdict) bool { return len(v.Quiet) == 2 && v.Quiet[1].Arrivals == 1 })
	m.until("quiet again", is(quiet.StateTwice, 1))
}

func TestTooManyOrTwiceTheSameTargetIsRefused(t *testing.T) {
	p, err := New(Config{
		Cluster: &mesh{}, Credentials: fakeCredentials{},
		Place: canary.Place{Name: "a", Namespace: "istio-system", IP: netip.MustParseAddr("127.0.0.1")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Watch(make([]Target, maxTargets+1)); !errors.Is(err, ErrTooManyTargets) {
		t.Errorf("Watch of too many = %v", err)
	}
	if err := p.Watch([]Target{{Name: "a"}, {Name: "a"}}); err == nil {
		t.Error("a target given twice was accepted")
	}
	if _, err := New(Config{}); err == nil {
		t.Error("a prover without anything was made")
	}
}

// syncCounter is a counter that a server's statistics show.
type syncCounter struct {
	mu sync.Mutex
	n  int
}

func (c *syncCounter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func (c *syncCounter) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strconv.Itoa(c.n)
}
