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
	transport *http.Transport

	mu   sync.Mutex
	kept []kept
}

// kept is a connection that is used again, and where it leads.
type kept struct {
	*http.ClientConn

	address string
}

// newConns makes a keeper of connections. It connects to nothing.
func newConns(p load.Protocol) *conns {
	protocols := new(http.Protocols)
	if p == load.HTTP2 {
		protocols.SetUnencryptedHTTP2(true)
	} else {
		protocols.SetHTTP1(true)
	}
	return &conns{
		transport: &http.Transport{
			DialContext: (&net.Dialer{}).DialContext,
			Protocols:   protocols,
			// A body that no one asked to be packed is the one that was sent.
			DisableCompression: true,
		},
	}
}

// reserved gives a kept connection to an address with a free place for one
// request, or opens one. The caller must send a request on it, or release it.
func (c *conns) reserved(ctx context.Context, address string) (*http.ClientConn, error) {
	if conn := c.free(address); conn != nil {
		return conn, nil
	}
	conn, err := c.open(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := conn.Reserve(); err != nil {
		return nil, fmt.Errorf("new connection: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = append(c.kept, kept{conn, address})
	return conn, nil
}

// free gives a kept connection with a free place and forgets those that ended.
// The one used last comes first, so that a burst's spare ones stay idle. Where a
// client is led elsewhere by now, it ends what leads to where it was before.
func (c *conns) free(address string) *http.ClientConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = slices.DeleteFunc(c.kept, func(conn kept) bool {
		if conn.Err() == nil && (conn.address == address || conn.InFlight() > 0) {
			return false
		}
		// What fails here is a connection that has ended already.
		_ = conn.Close()
		return true
	})
	for _, conn := range slices.Backward(c.kept) {
		if conn.address == address && conn.Available() > 0 && conn.Reserve() == nil {
			return conn.ClientConn
		}
	}
	return nil
}

// open makes a connection that is not kept.
func (c *conns) open(ctx context.Context, address string) (*http.ClientConn, error) {
	conn, err := c.transport.NewClientConn(ctx, "http", address)
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
