// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-io/weir/dns/zone"
)

// Server answers questions from the table that was set last. Until one was set it answers SERVFAIL. Its methods may be
// called by several goroutines; Run once.
type Server struct {
	config  Config
	log     *slog.Logger
	metrics *metrics
	udp     prometheus.Observer
	tcp     prometheus.Observer
	limits  *limiter
	draws   atomic.Uint64

	setting sync.Mutex // one Set at a time
	current atomic.Pointer[state]

	phase   atomic.Int32
	sockets []socket
}

// state is all that one answer depends on, so that none mixes two.
type state struct {
	since    time.Time // of the first table; of the start, before there is one
	table    *zone.Table
	ledger   *ledger
	counters *counters
}

// Phases of a server.
const (
	phaseNew int32 = iota
	phaseServing
	phaseStopping
)

// New returns a Server that listens nowhere yet.
func New(c Config) (*Server, error) {
	if err := c.fill(); err != nil {
		return nil, err
	}
	if c.Seed == 0 {
		var b [8]byte
		if _, err := rand.Read(b[:]); err != nil {
			return nil, fmt.Errorf("draw a seed: %w", err)
		}
		c.Seed = binary.LittleEndian.Uint64(b[:])
	}
	m := newMetrics()
	if err := m.register(c.Metrics); err != nil {
		return nil, err
	}
	s := &Server{
		config: c, log: c.Log, metrics: m,
		udp: m.duration.WithLabelValues("udp"), tcp: m.duration.WithLabelValues("tcp"),
		limits: &limiter{max: c.MaxConns, maxPerClient: c.MaxConnsPerClient, metrics: m, clients: map[netip.Addr]int{}},
	}
	s.draws.Store(c.Seed)
	s.current.Store(&state{since: time.Now(), ledger: &ledger{}, counters: m.of(nil)})
	return s, nil
}

// Set puts a table in force.
func (s *Server) Set(table *zone.Table) {
	s.setting.Lock()
	defer s.setting.Unlock()
	now := time.Now()
	before := s.current.Load()
	next := &state{since: before.since, table: table, ledger: before.ledger.next(table, now), counters: s.metrics.of(table)}
	if before.table == nil {
		next.since = now // a hub that stands by may wait for days, and another one answers meanwhile
	}
	s.current.Store(next)
	s.metrics.serial.Set(float64(table.Serial()))
	s.metrics.swapped.Set(float64(now.UnixNano()) / float64(time.Second))
}

// Ready says why questions should go elsewhere; nil when each of them can be answered.
func (s *Server) Ready() error {
	switch s.phase.Load() {
	case phaseNew:
		return errors.New("the server does not listen yet")
	case phaseStopping:
		return errors.New("the server is about to stop")
	}
	table := s.current.Load().table
	if table == nil {
		return errors.New("there is no table yet")
	}
	for _, z := range table.Zones() {
		if z.State == zone.Unsynced {
			return fmt.Errorf("zone %s is not synced", strings.TrimSuffix(z.Origin, "."))
		}
	}
	return nil
}

// ServeDNS answers one question. It is called by the sockets.
func (s *Server) ServeDNS(w dns.ResponseWriter, request *dns.Msg) {
	began := time.Now()
	now := s.current.Load()
	m, answer := reply(now.table, request, s.draw())
	limit, took := dns.MaxMsgSize, s.tcp
	if w.LocalAddr().Network() == "udp" {
		limit, took = limitOf(request), s.udp
	}
	out, whole, err := pack(m, limit)
	if err != nil {
		s.log.Error("an answer can not be packed", "error", err)
		s.metrics.dropped.Inc()
		return
	}
	if !whole {
		s.metrics.truncated.Inc()
	}
	if answer.Target >= 0 && whole {
		now.ledger.byPlace[answer.Target].note(time.Now(), answer.TTL)
	}
	now.counters.count(m.Rcode, answer, whole)
	_, _ = w.Write(out) // A client that is gone has nobody to tell.
	took.Observe(time.Since(began).Seconds())
}

// draw returns the next number of a sequence that starts at the seed (SplitMix64): one addition for all readers.
func (s *Server) draw() uint64 {
	z := s.draws.Add(0x9e3779b97f4a7c15)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// accept turns away what is no question: the first bytes tell (RFC 9619).
func (s *Server) accept(h dns.Header) dns.MsgAcceptAction {
	action := dns.DefaultMsgAcceptFunc(h)
	if action != dns.MsgAccept {
		s.metrics.dropped.Inc()
	}
	return action
}

// invalid counts what could not be read as a question.
func (s *Server) invalid([]byte, error) { s.metrics.dropped.Inc() }

// Run listens, unless Listen did already, and answers until the context ends and the lame duck's time is over.
func (s *Server) Run(ctx context.Context) error {
	if len(s.sockets) == 0 {
		if err := s.Listen(ctx); err != nil {
			return err
		}
	}
	return s.serve(ctx)
}
