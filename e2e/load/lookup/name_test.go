// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"net"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// serve answers each question with what answer makes of it, until the test ends.
func serve(t *testing.T, answer func(m *dnsmessage.Message)) *Name {
	t.Helper()
	var lc net.ListenConfig
	conn, err := lc.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		buffer := make([]byte, 512)
		for {
			size, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if err := m.Unpack(buffer[:size]); err != nil {
				t.Error(err)
				return
			}
			m.Response = true
			answer(&m)
			raw, err := m.Pack()
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := conn.WriteTo(raw, from); err != nil {
				t.Error(err)
			}
		}
	})
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		served.Wait()
	})
	return &Name{Server: conn.LocalAddr().String(), Host: "echo.demo.global.example.com"}
}

func address(last byte, ttl uint32) func(*dnsmessage.Message) {
	return func(m *dnsmessage.Message) {
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET, TTL: ttl},
			Body:   &dnsmessage.AResource{A: [4]byte{192, 0, 2, last}},
		})
	}
}

func TestAnAnswerIsKeptForItsTimeAndNotLonger(t *testing.T) {
	for ttl, asked := range map[uint32]int{0: 3, 60: 1} {
		n := serve(t, address(7, ttl))
		for range 3 {
			got, err := n.Address(t.Context())
			if err != nil || got.String() != "192.0.2.7" {
				t.Errorf("got %v, %v", got, err)
			}
		}
		if n.Asked() != asked {
			t.Errorf("for %d s: asked %d times, want %d", ttl, n.Asked(), asked)
		}
	}
}

func TestWhatIsNoAnswerIsAnErrorThatSaysWhy(t *testing.T) {
	for says, answer := range map[string]func(*dnsmessage.Message){
		"NameError":        func(m *dnsmessage.Message) { m.RCode = dnsmessage.RCodeNameError },
		"ServerFailure":    func(m *dnsmessage.Message) { m.RCode = dnsmessage.RCodeServerFailure },
		"no address":       func(*dnsmessage.Message) {},
		"another question": func(m *dnsmessage.Message) { m.ID++ },
	} {
		n := serve(t, answer)
		if got, err := n.Address(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, %v", says, got, err)
		}
		if n.Asked() != Tries {
			t.Errorf("%s: asked %d times", says, n.Asked())
		}
	}
}
