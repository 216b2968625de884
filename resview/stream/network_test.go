// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"net"
	"sync"

	"google.golang.org/grpc/test/bufconn"
)

// network is a wire in memory that can be cut without a word or stopped for a while. In a bubble of testing/synctest its
// time is fake, so that minutes of silence take none.
type network struct {
	mu       sync.Mutex
	listener *bufconn.Listener
	links    map[*link]struct{}
}

var errNoHub = errors.New("connection refused")

func newNetwork() *network { return &network{links: map[*link]struct{}{}} }

// listen starts what the hub accepts on; an earlier listener must be closed.
func (n *network) listen() net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listener = bufconn.Listen(256 << 10)
	return n.listener
}

// unplug makes dialing fail until the next listen.
func (n *network) unplug() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listener = nil
}

func (n *network) dial(ctx context.Context, _ string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listener == nil {
		return nil, errNoHub
	}
	conn, err := n.listener.DialContext(ctx)
	if err != nil {
		return nil, err
	}
	l := &link{Conn: conn, flows: make(chan struct{}), lost: make(chan struct{}), closed: make(chan struct{})}
	close(l.flows)
	n.links[l] = struct{}{}
	return l, nil
}

// cut makes every present link lose all that is sent, either way, and tells nobody.
func (n *network) cut() { n.each(func(l *link) { l.cut.Do(func() { close(l.lost) }) }) }

// stall stops what agents send on present links until flow is called; nothing is lost.
func (n *network) stall() {
	n.each(func(l *link) { l.flows = make(chan struct{}) })
}

func (n *network) flow() { n.each(func(l *link) { close(l.flows) }) }

func (n *network) each(do func(*link)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for l := range n.links {
		l.mu.Lock()
		do(l)
		l.mu.Unlock()
	}
}

// link is the agent's end of one connection.
type link struct {
	net.Conn
	mu     sync.Mutex
	flows  chan struct{} // closed: bytes flow
	lost   chan struct{} // closed: bytes get lost
	closed chan struct{}
	cut    sync.Once
	once   sync.Once
}

func (l *link) Write(p []byte) (int, error) {
	l.mu.Lock()
	flows := l.flows
	l.mu.Unlock()
	select {
	case <-flows:
	case <-l.lost:
	case <-l.closed:
		return 0, net.ErrClosed
	}
	select {
	case <-l.lost:
		return len(p), nil
	default:
		return l.Conn.Write(p)
	}
}

func (l *link) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	select {
	case <-l.lost:
		if errors.Is(err, net.ErrClosed) {
			return 0, err
		}
		<-l.closed // What came is lost, an end of the stream too.
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

// Close of a link that was cut tells the other end nothing: a cable has no end of stream.
func (l *link) Close() error {
	l.once.Do(func() { close(l.closed) })
	select {
	case <-l.lost:
		return nil
	default:
		return l.Conn.Close()
	}
}
