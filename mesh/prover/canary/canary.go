// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

const (
	// maxAnswer bounds one answer: all routes of one port of a large mesh.
	maxAnswer = 64 << 20
	// firstWait and lastWait are the bounds of the wait before a reconnect.
	firstWait = 100 * time.Millisecond
	lastWait  = 5 * time.Second
	// deadAfter is how long a silent connection is believed in.
	// istiod ends connections that ask more often than every 15 s.
	pingEvery = 20 * time.Second
	deadAfter = 5 * time.Second
)

// ErrNoAccess means that the replica refuses the canary's identity.
var ErrNoAccess = errors.New("istiod refuses the canary's identity")

// Canary is a subscription to one replica. Create it with New and run it once.
// All methods are safe for use from several goroutines.
type Canary struct {
	target  string
	node    *core.Node
	options []grpc.DialOption
	changed func()

	mu      sync.Mutex
	names   map[string][]string // wanted, by type
	wanted  uint64              // raised with each change of names
	wake    chan struct{}
	ledger  Ledger
	streams uint64 // opened so far
	open    bool
	err     error
}

// New makes a canary of the replica at target (host:port), which it dials with
// options. Changed is called, without any lock held, whenever the canary may
// know more or less than before; it must not block.
func New(target string, node *core.Node, changed func(), options ...grpc.DialOption) *Canary {
	return &Canary{
		target:  target,
		node:    node,
		options: options,
		changed: changed,
		names:   map[string][]string{},
		wake:    make(chan struct{}, 1),
	}
}

// Subscribe replaces the names of the route configurations and of the Envoy
// clusters that are asked for.
func (c *Canary) Subscribe(routes, clusters []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Equal(routes, c.names[TypeRoutes]) && slices.Equal(clusters, c.names[TypeEndpoints]) {
		return
	}
	c.names[TypeRoutes] = slices.Clone(routes)
	c.names[TypeEndpoints] = slices.Clone(clusters)
	c.wanted++
	c.ledger.Retain(slices.Concat(routes, clusters)...)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Ask answers q from the open stream. Without one the answer's Stream is 0 and
// nothing is known.
func (c *Canary) Ask(q Query) Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open {
		none := Finding{Sight: SightNone}
		return Answer{Routes: none, Fence: none}
	}
	answer := c.ledger.Ask(q)
	answer.Stream = c.streams
	return answer
}

// Received tells whether the answer with that UUID came lately on the open
// stream, which is then the stream that is returned.
func (c *Canary) Received(id string) (stream uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open || !c.ledger.Received(id) {
		return 0, false
	}
	return c.streams, true
}

// Err returns why no stream is open; nil while one is, or before the first try.
func (c *Canary) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Run keeps a stream open until ctx ends, and returns when all is closed.
func (c *Canary) Run(ctx context.Context) {
	wait := firstWait
	for ctx.Err() == nil {
		heard, err := c.stream(ctx)
		c.closed(err)
		if ctx.Err() != nil {
			return
		}
		if heard {
			wait = firstWait
		}
		// Replicas restart together; their canaries need not come back so.
		timer := time.NewTimer(wait/2 + rand.N(wait/2+1)) //nolint:forbidigo // jitter, which no decision rests on.
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		wait = min(2*wait, lastWait)
	}
}

// closed forgets all that the stream told.
func (c *Canary) closed(err error) {
	c.mu.Lock()
	c.open = false
	c.ledger = Ledger{}
	c.err = err
	c.mu.Unlock()
	c.changed()
}

// stream runs one stream to its end. Heard tells whether any answer came.
func (c *Canary) stream(ctx context.Context) (heard bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options := append([]grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingEvery, Timeout: deadAfter}),
		grpc.WithDisableServiceConfig(),
	}, c.options...)
	conn, err := grpc.NewClient("passthrough:///"+c.target, options...)
	if err != nil {
		return false, fmt.Errorf("canary of istiod %s: %w", c.target, err)
	}
	defer func() { _ = conn.Close() }()
	ads, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		return false, c.wrap(err)
	}
	answers := make(chan *discovery.DiscoveryResponse)
	failed := make(chan error, 1)
	go func() {
		for {
			r, err := ads.Recv()
			if err != nil {
				failed <- err
				return
			}
			select {
			case answers <- r:
			case <-ctx.Done():
				failed <- ctx.Err()
				return
			}
		}
	}()
	s := session{canary: c, ads: ads, nonce: map[string]*discovery.DiscoveryResponse{}}
	heard, err = s.run(ctx, answers, failed)
	// The reader must be gone before the connection is.
	cancel()
	return heard, c.wrap(err)
}

// wrap names the replica, and tells a refusal from a failure.
func (c *Canary) wrap(err error) error {
	switch status.Code(err) {
	case codes.Unauthenticated, codes.PermissionDenied:
		return fmt.Errorf("canary of istiod %s: %w: %w", c.target, ErrNoAccess, err)
	}
	return fmt.Errorf("canary of istiod %s: %w", c.target, err)
}

// session is the sending half of one stream.
type session struct {
	canary *Canary
	ads    discovery.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	sent   uint64 // the wanted that was sent last
	nonce  map[string]*discovery.DiscoveryResponse
}

func (s *session) run(ctx context.Context, answers <-chan *discovery.DiscoveryResponse, failed <-chan error) (bool, error) {
	heard := false
	for {
		if err := s.request(); err != nil {
			return heard, err
		}
		select {
		case <-ctx.Done():
			return heard, ctx.Err()
		case err := <-failed:
			return heard, err
		case <-s.canary.wake:
		case r := <-answers:
			if err := s.answer(r, !heard); err != nil {
				return heard, err
			}
			heard = true
		}
	}
}

// answer takes r in, then acknowledges it. In this order the replica lists an
// answer as acknowledged only when its content is known here.
func (s *session) answer(r *discovery.DiscoveryResponse, first bool) error {
	c := s.canary
	c.mu.Lock()
	if first {
		c.ledger = Ledger{}
		c.ledger.Retain(slices.Concat(c.names[TypeRoutes], c.names[TypeEndpoints])...)
		c.streams++
		c.open, c.err = true, nil
	}
	err := c.ledger.Apply(r)
	names := c.names[r.GetTypeUrl()]
	c.mu.Unlock()
	if err != nil {
		return err
	}
	c.changed()
	s.nonce[r.GetTypeUrl()] = &discovery.DiscoveryResponse{VersionInfo: r.GetVersionInfo(), Nonce: r.GetNonce()}
	return s.send(r.GetTypeUrl(), names)
}

// request sends the names that are wanted, if that changed.
func (s *session) request() error {
	c := s.canary
	c.mu.Lock()
	wanted := c.wanted
	names := map[string][]string{TypeRoutes: c.names[TypeRoutes], TypeEndpoints: c.names[TypeEndpoints]}
	c.mu.Unlock()
	if wanted == s.sent {
		return nil
	}
	for _, t := range []string{TypeEndpoints, TypeRoutes} {
		// Names of nothing would mean a subscription to everything, or its end.
		if len(names[t]) == 0 && s.nonce[t] == nil {
			continue
		}
		if err := s.send(t, names[t]); err != nil {
			return err
		}
	}
	s.sent = wanted
	return nil
}

func (s *session) send(typeURL string, names []string) error {
	last := s.nonce[typeURL]
	return s.ads.Send(&discovery.DiscoveryRequest{
		Node:          s.canary.node,
		TypeUrl:       typeURL,
		ResourceNames: names,
		VersionInfo:   last.GetVersionInfo(),
		ResponseNonce: last.GetNonce(),
	})
}
