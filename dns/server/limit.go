// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// limiter bounds TCP connections over all listeners.
type limiter struct {
	max, maxPerClient int
	metrics           *metrics

	mu      sync.Mutex
	all     int
	clients map[netip.Addr]int
}

// take admits a connection, or names the limit that it met.
func (l *limiter) take(client netip.Addr) (limit string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.all >= l.max:
		return "all"
	case l.clients[client] >= l.maxPerClient:
		return "client"
	}
	l.all++
	l.clients[client]++
	l.metrics.conns.Set(float64(l.all))
	return ""
}

func (l *limiter) give(client netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.clients[client]--; l.clients[client] == 0 {
		delete(l.clients, client)
	}
	l.metrics.conns.Set(float64(l.all))
}

// listener admits connections within the limits, and closes the others at once.
type listener struct {
	net.Listener
	limits *limiter
}

// Accept returns the next connection that is admitted.
func (l listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client := clientOf(c.RemoteAddr())
		limit := l.limits.take(client)
		if limit == "" {
			return &conn{Conn: c, done: func() { l.limits.give(client) }}, nil
		}
		l.limits.metrics.refused.WithLabelValues(limit).Inc()
		_ = c.Close()
	}
}

func clientOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// conn is an admitted connection: a write takes no longer than it may, and a close gives its place back once.
type conn struct {
	net.Conn
	done   func()
	closed sync.Once
}

// Write writes within ioTimeout, so that a client that does not read holds nothing up.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(ioTimeout)); err != nil {
		return 0, fmt.Errorf("set a deadline: %w", err)
	}
	return c.Conn.Write(b)
}

// Close closes the connection and gives its place to another.
func (c *conn) Close() error {
	c.closed.Do(c.done)
	return c.Conn.Close()
}
