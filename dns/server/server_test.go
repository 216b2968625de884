// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/weir-io/weir/dns/zone"
)

// TestNoAnswerMixesTwoTables swaps tables under load. Each table has one cluster, one address, one TTL and one serial
// that tell it from the others; an answer, and its SOA, must be of one of them, and not of one older than was in force
// when the question was sent.
func TestNoAnswerMixesTwoTables(t *testing.T) {
	s := start(t, nil)
	tables := make([]*zone.Table, 200)
	for i := range tables {
		tables[i] = parse(t, fmt.Sprintf(`{serial: %d, ttl: %ds, global: {origin: g.example, clusters: [{name: c%d, addresses: [10.0.0.%d]}], services: [{namespace: n, name: s, clusters: [{name: c%d, weight: 1}]}]}}`, i+1, i, i, i, i))
	}
	s.Set(tables[0])
	var inForce atomic.Int64
	var asked atomic.Int64
	done := make(chan struct{})
	var clients sync.WaitGroup
	for client := range 4 {
		clients.Go(func() {
			transport := []string{"udp", "tcp"}[client%2]
			for {
				select {
				case <-done:
					return
				default:
				}
				before := inForce.Load()
				m := s.exchange(t, transport, question("s.n.g.example.", dns.TypeA))
				last := m.Answer[0].(*dns.A).A.To4()[3]
				if m.Answer[0].Header().Ttl != uint32(last) || int64(last) < before {
					t.Errorf("address %d, TTL %d, after table %d was in force", last, m.Answer[0].Header().Ttl, before)
				}
				before = inForce.Load()
				m = s.exchange(t, transport, question("x.g.example.", dns.TypeA))
				if serial := int64(m.Ns[0].(*dns.SOA).Serial) - 1; serial < before {
					t.Errorf("serial of table %d, after table %d was in force", serial, before)
				}
				asked.Add(1)
			}
		})
	}
	for i, one := range tables[1:] {
		s.Set(one)
		inForce.Store(int64(i + 1))
		want := asked.Load() + 2
		until(t, "questions were answered", func() bool { return asked.Load() >= want || t.Failed() })
	}
	close(done)
	clients.Wait()
}

func TestAClusterThatWasWithdrawnIsNotAnsweredAndItsLastAnswerIsOnRecord(t *testing.T) {
	s := start(t, nil)
	const form = `{serial: %d, global: {origin: g.example, clusters: [{name: c1, addresses: [10.0.0.1]}, {name: c2, addresses: [10.0.0.2]}], services: [{namespace: n, name: s, ttl: 30s, clusters: [{name: c1, weight: 1}, {name: c2, weight: %d}]}]}}`
	ask := func() string {
		return s.exchange(t, "udp", question("s.n.g.example.", dns.TypeA)).Answer[0].(*dns.A).A.String()
	}
	began := time.Now()
	s.Set(parse(t, fmt.Sprintf(form, 1, 1)))
	since := s.Report().Since
	if r := s.Report(); r.Serial != 1 || len(r.Given) != 0 || r.Since.Before(began) || r.Since.After(time.Now()) {
		t.Fatalf("before any answer: %+v", r)
	}
	until(t, "c2 was answered", func() bool { return ask() == "10.0.0.2" })
	last := time.Now()
	s.Set(parse(t, fmt.Sprintf(form, 2, 0)))
	for range 200 {
		if got := ask(); got != "10.0.0.1" {
			t.Fatalf("answered %s", got)
		}
	}
	r := s.Report()
	if r.Serial != 2 || !r.Since.Equal(since) {
		t.Errorf("%+v, and it began at %s", r, since)
	}
	for _, g := range r.Given {
		if g.Cluster != "c2" {
			continue
		}
		if g.Name != "s.n.g.example." || g.Last.Before(began) || g.Last.After(last.Add(tick)) || g.CachedUntil.Sub(g.Last) != 30*time.Second {
			t.Errorf("between %s and %s: %+v", began, last, g)
		}
		return
	}
	t.Errorf("c2 is not on record: %+v", r)
}

func TestTheLedgerKeepsTheLatestEndAndForgetsWhatHasRunOut(t *testing.T) {
	one := parse(t, names)
	now := time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC)
	l := new(ledger).next(one, now)
	l.byPlace[0].note(now, 60)
	l.byPlace[0].note(now.Add(time.Second), 5) // A lower TTL does not shorten what was given before.
	given := l.given(now)
	want := now.Add(-time.Nanosecond).Add(tick)
	if len(given) != 1 || !given[0].Last.Equal(want.Add(time.Second)) || !given[0].CachedUntil.Equal(want.Add(time.Minute)) {
		t.Fatalf("%+v", given)
	}
	// The next table does not have the target. Its record stays while any TTL could run, and grows by late answers.
	late := l.byPlace[0]
	l = l.next(nil, now)
	late.note(now.Add(2*time.Second), 60)
	if given = l.given(now); len(given) != 1 || !given[0].CachedUntil.Equal(want.Add(62*time.Second)) {
		t.Errorf("%+v", given)
	}
	if given = l.given(now.Add(63 * time.Second)); len(given) != 0 {
		t.Errorf("after it ran out: %+v", given)
	}
	if l = l.next(nil, now.Add(2*time.Hour)); len(l.all) != 0 {
		t.Errorf("%d slots are kept for ever", len(l.all))
	}
	// One that was never answered is found too when its first answer is late.
	l = new(ledger).next(one, now)
	late = l.byPlace[0]
	l = l.next(nil, now)
	late.note(now, 60)
	if given = l.given(now); len(given) != 1 {
		t.Errorf("a late first answer is lost: %+v", given)
	}
	// It comes back with what was on record.
	l = new(ledger).next(one, now)
	l.byPlace[0].note(now, 60)
	if l = l.next(nil, now).next(one, now); l.byPlace[0].until.Load() == 0 {
		t.Error("a target that came back has forgotten its answers")
	}
}

func TestAnAnswerThatDidNotFitIsNotOnRecord(t *testing.T) {
	s := start(t, nil)
	s.Set(parse(t, names))
	if a := s.exchange(t, "udp", question("many.demo.global.example.com.", dns.TypeA)); !a.Truncated {
		t.Fatal(a)
	}
	if r := s.Report(); len(r.Given) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestAServerLivesOnWhateverBytesArrive(t *testing.T) {
	s := start(t, nil)
	s.Set(parse(t, names))
	good, err := question("one.demo.global.example.com.", dns.TypeA).Pack()
	if err != nil {
		t.Fatal(err)
	}
	response := question("one.demo.global.example.com.", dns.TypeA)
	response.Response = true
	loop, err := response.Pack()
	if err != nil {
		t.Fatal(err)
	}
	ugly := [][]byte{{}, {0}, good[:11], good[:12], good[:len(good)-1], append(good[:12:12], 0xc0, 0x0c, 0, 1, 0, 1), loop, make([]byte, 4096), make([]byte, 9000)}
	for i := range 12 {
		cut := append([]byte(nil), good...)
		cut[i] ^= 0xff
		ugly = append(ugly, cut)
	}
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "udp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, raw := range ugly {
		if _, err := c.Write(raw); err != nil {
			t.Fatal(err)
		}
		over := s.dial(t)
		if _, err := over.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(raw))), raw...)); err != nil {
			t.Fatal(err)
		}
		if a := s.exchange(t, "udp", question("one.demo.global.example.com.", dns.TypeA)); len(a.Answer) != 1 {
			t.Fatalf("after %x: %s", raw, a)
		}
	}
	until(t, "messages are counted", func() bool { return testutil.ToFloat64(s.metrics.dropped) >= 8 })
}

func TestConnectionsAreBoundedInAllAndForEachClient(t *testing.T) {
	for limit, c := range map[string]func(*Config){
		"all":    func(c *Config) { c.MaxConns = 2 },
		"client": func(c *Config) { c.MaxConnsPerClient = 2 },
	} {
		t.Run(limit, func(t *testing.T) {
			s := start(t, c)
			s.Set(parse(t, names))
			first := s.dial(t)
			s.dial(t)
			until(t, "two connections are open", func() bool { return testutil.ToFloat64(s.metrics.conns) == 2 })
			third := s.dial(t)
			if _, err := third.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("the third one: %v", err)
			}
			if n := testutil.ToFloat64(s.metrics.refused.WithLabelValues(limit)); n != 1 {
				t.Errorf("%v refused", n)
			}
			if a := s.exchange(t, "udp", question("one.demo.global.example.com.", dns.TypeA)); len(a.Answer) != 1 {
				t.Error("UDP suffers from it")
			}
			_ = first.Close()
			until(t, "its place is given back", func() bool { return testutil.ToFloat64(s.metrics.conns) == 1 })
			s.exchange(t, "tcp", question("one.demo.global.example.com.", dns.TypeA))
		})
	}
}

func TestOneConnectionAnswersManyQuestionsAndIsClosedWhenIdle(t *testing.T) {
	s := start(t, func(c *Config) { c.IdleTimeout = 500 * time.Millisecond })
	s.Set(parse(t, names))
	c := &dns.Conn{Conn: s.dial(t)}
	for range 5 { // All are sent before the first is read (RFC 7766).
		if err := c.WriteMsg(question("one.demo.global.example.com.", dns.TypeA)); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		if a, err := c.ReadMsg(); err != nil || len(a.Answer) != 1 {
			t.Fatal(a, err)
		}
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("an idle connection: %v", err)
	}
}

func TestAClientThatDoesNotReadHoldsItsConnectionNoLongerThanAWriteMayTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		theirs, ours := net.Pipe() // Has no buffer: nobody reads, so nothing is written.
		defer theirs.Close()
		gone := 0
		c := &conn{Conn: ours, done: func() { gone++ }}
		began := time.Now()
		var timeout net.Error
		if _, err := c.Write([]byte("x")); !errors.As(err, &timeout) || !timeout.Timeout() || time.Since(began) != ioTimeout {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		_ = c.Close()
		_ = c.Close()
		if gone != 1 {
			t.Errorf("its place was given back %d times", gone)
		}
	})
}

func TestAServerThatStopsIsNotReadyFirstAndAnswersOnForAWhile(t *testing.T) {
	s := start(t, func(c *Config) { c.LameDuck = 2 * time.Second })
	s.Set(parse(t, names))
	until(t, "ready", func() bool { return s.Ready() == nil })
	idle := s.dial(t)
	s.stop()
	until(t, "not ready", func() bool { return s.Ready() != nil })
	if a := s.exchange(t, "udp", question("one.demo.global.example.com.", dns.TypeA)); len(a.Answer) != 1 {
		t.Error("no answer while it is about to stop")
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	s.ended <- nil
	if _, err := idle.Read(make([]byte, 1)); err == nil {
		t.Error("an idle connection outlives the server")
	}
	var d net.Dialer
	if c, err := d.DialContext(t.Context(), "tcp", s.address); err == nil {
		_ = c.Close()
		t.Error("it still listens")
	}
}

func TestAReportIsServedAsJSON(t *testing.T) {
	s := start(t, nil)
	s.Set(parse(t, names))
	s.exchange(t, "udp", question("one.demo.global.example.com.", dns.TypeA))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/answers", nil))
	var r zone.Report
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if r.Serial != 7 || len(r.Given) != 1 || r.Given[0].Cluster != "c1" || !strings.Contains(w.Body.String(), `"cachedUntil"`) {
		t.Errorf("%s", w.Body)
	}
}

func TestMetricsTellWhatWasAskedAndWhatWasGiven(t *testing.T) {
	s := start(t, nil)
	s.Set(parse(t, names))
	s.exchange(t, "udp", question("one.demo.global.example.com.", dns.TypeA))
	s.exchange(t, "tcp", question("one.demo.global.example.com.", dns.TypeA))
	s.exchange(t, "udp", question("nope.clusterset.local.", dns.TypeA))
	s.exchange(t, "udp", question("example.org.", dns.TypeA))
	s.exchange(t, "udp", question("many.demo.global.example.com.", dns.TypeA))
	for want, got := range map[float64]prometheus.Collector{
		3: s.metrics.queries.WithLabelValues("global.example.com", "NOERROR"),
		2: s.metrics.clusters.WithLabelValues("c1"),
		7: s.metrics.serial,
	} {
		if v := testutil.ToFloat64(got); v != want {
			t.Errorf("%v, want %v", v, want)
		}
	}
	for _, got := range []prometheus.Collector{
		s.metrics.queries.WithLabelValues("clusterset.local", "NXDOMAIN"), s.metrics.queries.WithLabelValues("none", "REFUSED"), s.metrics.truncated,
	} {
		if v := testutil.ToFloat64(got); v != 1 {
			t.Errorf("%v, want 1", v)
		}
	}
	if problems, err := testutil.GatherAndLint(s.registry); err != nil || len(problems) != 0 {
		t.Errorf("%v %v", problems, err)
	}
	if age := time.Since(time.Unix(int64(testutil.ToFloat64(s.metrics.swapped)), 0)); age < 0 || age > time.Minute {
		t.Errorf("applied %s ago", age)
	}
}

func TestAnAddressThatCanNotBeHadIsNamedAndLeavesNothingOpen(t *testing.T) {
	taken := start(t, nil)
	config := func(listen ...string) Config {
		return Config{Listen: listen, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)}
	}
	s, err := New(config("127.0.0.1:0", taken.address))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "listen on "+taken.address) {
		t.Errorf("got %v", err)
	}
	if len(s.Addresses()) != 0 || s.Ready() == nil {
		t.Error("it listens in part")
	}
	for want, c := range map[string]Config{
		"no address to listen on":              config(),
		`"1053" is not host:port`:              config("1053"),
		"must not be negative":                 {Listen: []string{":0"}, MaxConns: -1},
		"register metrics of the DNS server: ": {Listen: []string{":0"}, Metrics: taken.registry},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
