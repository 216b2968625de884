// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package generator_test

import (
	"net"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/weir-io/weir/e2e/load/generator"
)

// nameServer answers every question with loopback, which may be cached for no time, until the test ends.
func nameServer(t *testing.T, asked *atomic.Int64) string {
	t.Helper()
	var lc net.ListenConfig
	conn, err := lc.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { _ = conn.Close(); <-ended })
	go func() {
		defer close(ended)
		buffer := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil {
				continue
			}
			asked.Add(1)
			m.Response = true
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.AResource{A: netip.MustParseAddr("127.0.0.1").As4()},
			}}
			if answer, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	return conn.LocalAddr().String()
}

func TestATargetWithANameServerIsEnteredWhereTheNameLeads(t *testing.T) {
	s := newSite(t, plain)
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	c := config(s, t.TempDir())
	c.Targets = []generator.Target{{URL: "http://echo.demo.global.test:" + u.Port(), Names: nameServer(t, &asked)}}
	report, err := generator.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if report.Sent == 0 || report.Lost > 0 || asked.Load() == 0 {
		t.Errorf("%d sent, %d lost, %d questions: %v", report.Sent, report.Lost, asked.Load(), report.Errors)
	}
}
