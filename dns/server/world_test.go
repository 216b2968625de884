// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/weir-io/weir/dns/table"
	"github.com/weir-io/weir/dns/zone"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// names has one service in both zones, one of many addresses, one of one cluster, and one that is out.
const names = `
serial: 7
clusterSet:
  services:
  - {namespace: demo, name: echo, addresses: [10.96.0.7]}
global:
  origin: global.example.com
  clusters:
  - {name: c1, addresses: [192.0.2.1]}
  - {name: c2, addresses: [192.0.2.2]}
  - {name: many, addresses: [FOUR]}
  - {name: most, addresses: [SIX]}
  services:
  - {namespace: demo, name: echo, hostname: shop.global.example.com, ttl: 10s, clusters: [{name: c1, weight: 1}, {name: c2, weight: 1}]}
  - {namespace: demo, name: one, clusters: [{name: c1, weight: 1}]}
  - {namespace: demo, name: out, clusters: [{name: c1, weight: 0}]}
  - {namespace: demo, name: many, clusters: [{name: many, weight: 1}]}
  - {namespace: demo, name: most, clusters: [{name: most, weight: 1}]}
`

func parse(tb testing.TB, text string) *zone.Table {
	tb.Helper()
	var four, six []string
	for i := range 30 {
		four = append(four, fmt.Sprintf("192.0.2.%d", i+100))
	}
	for i := range zone.MaxAddresses {
		six = append(six, fmt.Sprintf(`"2001:db8::%x"`, i+1))
	}
	text = strings.NewReplacer("FOUR", strings.Join(four, ", "), "SIX", strings.Join(six, ", ")).Replace(text)
	loaded, err := table.Parse("names", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return loaded.Table
}

// started is a server that answers on loopback until the test ends.
type started struct {
	*Server
	address  string
	registry *prometheus.Registry
	stop     context.CancelFunc
	ended    chan error
}

func start(t *testing.T, change func(*Config)) *started {
	t.Helper()
	s := &started{registry: prometheus.NewRegistry(), ended: make(chan error, 1)}
	c := Config{Listen: []string{"127.0.0.1:0"}, Seed: 1, Metrics: s.registry, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&c)
	}
	var err error
	if s.Server, err = New(c); err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.address = s.Addresses()[0].String()
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() { s.ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-s.ended; err != nil {
			t.Error(err)
		}
		s.ended <- nil
	})
	return s
}

func question(name string, kind uint16) *dns.Msg {
	m := new(dns.Msg)
	m.SetQuestion(name, kind)
	m.RecursionDesired = false
	return m
}

// exchange asks over the transport and waits for the answer.
func (s *started) exchange(t *testing.T, transport string, m *dns.Msg) *dns.Msg {
	t.Helper()
	c := dns.Client{Net: transport, Timeout: 10 * time.Second, UDPSize: dns.MaxMsgSize}
	a, _, err := c.Exchange(m, s.address)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// until waits for a condition that another goroutine makes true.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// dial opens a TCP connection, closed when the test ends.
func (s *started) dial(t *testing.T) net.Conn {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
