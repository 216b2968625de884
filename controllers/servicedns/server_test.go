// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servicedns

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/dns/server"
	"github.com/weir-io/weir/dns/zone"
)

// served is a world whose names are answered over sockets.
type served struct {
	*world

	server *server.Server
}

func newServed(t *testing.T) *served {
	t.Helper()
	s := &served{world: newWorld(t, append(three(), serviceOf("echo", &v1alpha1.NameWishes{Hostname: "shop.global.example.com", TTL: "2s"}, "c1", "c2"))...)}
	var err error
	s.server, err = server.New(server.Config{
		Listen: []string{"127.0.0.1:0"}, Seed: 1, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.server.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	s.r.Server, s.r.Now = s.server, time.Now
	return s
}

// ask asks over UDP or TCP.
func (s *served) ask(network, name string, kind uint16) *dns.Msg {
	s.Helper()
	q := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
	c := dns.Client{Net: network, Timeout: 5 * time.Second}
	m, _, err := c.Exchange(q, s.server.Addresses()[0].String())
	if err != nil {
		s.Fatalf("%s %s: %v", network, name, err)
	}
	return m
}

func TestOverSocketsAHubThatHasNotLookedYetDeniesNothing(t *testing.T) {
	s := newServed(t)
	for _, network := range []string{"udp", "tcp"} {
		if m := s.ask(network, own, dns.TypeA); m.Rcode != dns.RcodeServerFailure {
			t.Errorf("%s: before the first look: %s", network, dns.RcodeToString[m.Rcode])
		}
	}
	s.settle()
	for _, network := range []string{"udp", "tcp"} {
		for name, c := range map[string]struct {
			host  string
			kind  uint16
			rcode int
			found int
		}{
			"own name":     {own, dns.TypeA, dns.RcodeSuccess, 1},
			"host name":    {"SHOP.global.example.com", dns.TypeA, dns.RcodeSuccess, 1},
			"no such name": {"web.demo.global.example.com", dns.TypeA, dns.RcodeNameError, 0},
			"no such type": {own, dns.TypeTXT, dns.RcodeSuccess, 0},
			"name server":  {"ns1.global.example.com", dns.TypeA, dns.RcodeSuccess, 1},
			"outside":      {"example.org", dns.TypeA, dns.RcodeRefused, 0},
		} {
			m := s.ask(network, c.host, c.kind)
			if m.Rcode != c.rcode || len(m.Answer) != c.found || !m.Authoritative && c.rcode != dns.RcodeRefused {
				t.Errorf("%s, %s: %v", network, name, m)
			}
			if negative := c.found == 0 && c.rcode != dns.RcodeRefused; negative && (len(m.Ns) != 1 || m.Ns[0].Header().Rrtype != dns.TypeSOA) {
				t.Errorf("%s, %s: a negative answer without the zone's SOA: %v", network, name, m)
			}
		}
	}
	if err := s.server.Ready(); err != nil {
		t.Error(err)
	}
}

func TestOverSocketsAMemberThatIsWithdrawnIsNotAnsweredAndExpiresAfterItsLastAnswer(t *testing.T) {
	s := newServed(t)
	s.settle()
	got := map[string]int{}
	for range 200 {
		for _, rr := range s.ask("udp", own, dns.TypeA).Answer {
			got[rr.(*dns.A).A.String()]++
		}
	}
	if got["192.0.2.1"] < 50 || got["192.0.2.2"] < 50 || len(got) != 2 {
		t.Errorf("drawn %v", got)
	}
	last := time.Now()
	s.plan("echo", "c2", v1alpha1.DNSWithdrawn)
	s.settle()
	for range 100 {
		if rr := s.ask("udp", own, dns.TypeA).Answer; len(rr) != 1 || rr[0].(*dns.A).A.String() != "192.0.2.1" {
			t.Fatalf("answered %v", rr)
		}
	}
	if row := rowOf(s.get("echo"), "c2"); row.Standing != v1alpha1.StandingCached || row.CachedUntil.Time.Before(last.Add(grace).Truncate(time.Second)) {
		t.Errorf("got %+v", row)
	}
	var c2 *zone.Given
	for _, g := range s.server.Report().Given {
		if g.Cluster == "c2" {
			c2 = &g
		}
	}
	if c2 == nil || c2.CachedUntil.Before(c2.Last.Add(2*time.Second)) {
		t.Errorf("on record as %+v", c2)
	}
	s.r.Now = func() time.Time { return time.Now().Add(2*time.Second + grace + time.Second) }
	if s.settle(); s.standing("echo", "c2") != "Expired" {
		t.Errorf("it is %s", s.standing("echo", "c2"))
	}
}
