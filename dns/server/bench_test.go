// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"log/slog"
	"net"
	"testing"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
)

// sink is a client over UDP that does not look at its answer.
type sink struct {
	dns.ResponseWriter

	address net.UDPAddr
}

func (s *sink) LocalAddr() net.Addr         { return &s.address }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }

// BenchmarkAnswer is one question from its bytes to those of its answer, with all that is counted and recorded; the
// sockets, which cost more, are not in it.
func BenchmarkAnswer(b *testing.B) {
	s, err := New(Config{Listen: []string{":0"}, Seed: 1, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	s.Set(parse(b, names))
	for name, asked := range map[string]string{"drawn": "echo.demo.global.example.com.", "denied": "nope.demo.global.example.com."} {
		m := question(asked, dns.TypeA)
		m.SetEdns0(1232, false)
		raw, err := m.Pack()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			w := &sink{}
			for b.Loop() {
				request := new(dns.Msg)
				if err := request.Unpack(raw); err != nil {
					b.Fatal(err)
				}
				s.ServeDNS(w, request)
			}
		})
	}
}
