// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"

	"github.com/weir-io/weir/e2e/load"
)

// conns makes and keeps the connections of one protocol. It is safe for
// concurrent use.
type conns struct {
	address   string
	transport *http.Transport

	mu   sync.Mutex
	kept []*http.ClientConn
}

// newConns makes a keeper of connections to address. It connects to nothing.
func newConns(p load.Protocol, address string) *conns {
	protocols := new(http.Protocols)
	if p == load.HTTP2 {
		protocols.SetUnencryptedHTTP2(true)
	} else {
		protocols.SetHTTP1(true)
	}
	return &conns{
		address: address,
		transport: &http.Transport{
			DialContext: (&net.Dialer{}).DialContext,
			Protocols:   protocols,
			// A body that no one asked to be packed is the one that was sent.
			DisableCompression: true,
		},
	}
}

// reserved gives a kept connection with a free place for one request, or opens
// one. The caller must send a request on it, or release it.
func (c *conns) reserved(ctx context.Context) (*http.ClientConn, error) {
	if conn := c.free(); conn != nil {
		return conn, nil
	}
	conn, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := conn.Reserve(); err != nil {
		return nil, fmt.Errorf("new connection: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = append(c.kept, conn)
	return conn, nil
}

// free gives a kept connection with a free place and forgets those that ended.
// The one used last comes first, so that a burst's spare ones stay idle.
func (c *conns) free() *http.ClientConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = slices.DeleteFunc(c.kept, func(conn *http.ClientConn) bool { return conn.Err() != nil })
	for _, conn := range slices.Backward(c.kept) {
		if conn.Available() > 0 && conn.Reserve() == nil {
			return conn
		}
	}
	return nil
}

// open makes a connection that is not kept.
func (c *conns) open(ctx context.Context) (*http.ClientConn, error) {
	conn, err := c.transport.NewClientConn(ctx, "http", c.address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return conn, nil
}

// close ends all kept connections.
func (c *conns) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.kept {
		// What fails here is a connection that has ended already.
		_ = conn.Close()
	}
	c.kept = nil
}
