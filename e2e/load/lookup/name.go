// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Timeout is how long one question may take; it is asked Tries times.
const (
	Timeout = time.Second
	Tries   = 3
)

// maxAnswer is more than a server may send over UDP to who has not said that it takes more.
const maxAnswer = 1232

// Name is one name at one server. It is safe for concurrent use: one question is asked at a time, and all wait for it.
type Name struct {
	// Server is host:port of who is asked.
	Server string
	// Host is what is asked for.
	Host string
	// Dial opens the way to the server; nil: from where this program is.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu        sync.Mutex
	addresses []netip.Addr
	until     time.Time
	asked     int
}

// Address is where to enter now: the first address of the answer that is kept, or of a new one.
func (n *Name) Address(ctx context.Context) (netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.addresses) > 0 && time.Now().Before(n.until) {
		return n.addresses[0], nil
	}
	var err error
	for range Tries {
		if err = n.look(ctx); err == nil {
			return n.addresses[0], nil
		}
	}
	return netip.Addr{}, fmt.Errorf("look up %s at %s: %w", n.Host, n.Server, err)
}

// Asked is how many questions were sent.
func (n *Name) Asked() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

// look asks once. The time of an answer counts from when it was asked for.
func (n *Name) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	dial := n.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	conn, err := dial(ctx, "udp", n.Server)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	n.asked++
	id := uint16(n.asked) // each question has a socket of its own, so any id will do
	question, err := ask(id, n.Host)
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := conn.Write(question); err != nil {
		return err
	}
	buffer := make([]byte, maxAnswer)
	size, err := conn.Read(buffer)
	if err != nil {
		return err
	}
	addresses, ttl, err := read(buffer[:size], id)
	if err != nil {
		return err
	}
	n.addresses, n.until = addresses, began.Add(ttl)
	return nil
}

func ask(id uint16, host string) ([]byte, error) {
	name, err := dnsmessage.NewName(host + ".")
	if err != nil {
		return nil, err
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id},
		Questions: []dnsmessage.Question{{Name: name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
	}
	return m.Pack()
}

// read takes the addresses, and the shortest time of them, out of an answer.
func read(raw []byte, id uint16) ([]netip.Addr, time.Duration, error) {
	var m dnsmessage.Message
	if err := m.Unpack(raw); err != nil {
		return nil, 0, err
	}
	switch {
	case m.ID != id || !m.Response:
		return nil, 0, errors.New("the answer is to another question")
	case m.RCode != dnsmessage.RCodeSuccess:
		return nil, 0, fmt.Errorf("the server says %s", m.RCode)
	}
	var out []netip.Addr
	ttl := time.Hour
	for _, r := range m.Answers {
		if a, ok := r.Body.(*dnsmessage.AResource); ok {
			out = append(out, netip.AddrFrom4(a.A))
			ttl = min(ttl, time.Duration(r.Header.TTL)*time.Second)
		}
	}
	if len(out) == 0 {
		return nil, 0, errors.New("the name has no address")
	}
	return out, ttl, nil
}
