// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"go.opentelemetry.io/otel/attribute"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/weir-io/weir/controllers/identity"
	"github.com/weir-io/weir/resview/stream"
)

// serviceName is the name under which traces show the hub.
var serviceName = attribute.String("service.name", "weir-hub")

// link serves agents as long as the manager runs and this process leads.
type link struct {
	server  *stream.Server
	address string
	rotate  func(context.Context) error
}

// Start listens and serves until the context ends. What a hub that stood by knows of its authority may be old by now.
func (l link) Start(ctx context.Context) error {
	if err := l.rotate(ctx); err != nil {
		return err
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", l.address)
	if err != nil {
		return fmt.Errorf("listen for agents on %s: %w", l.address, err)
	}
	return l.server.Serve(ctx, listener)
}

// sweeper deletes expired join tokens once an hour.
type sweeper struct{ tokens *identity.Tokens }

// Start sweeps until the context ends. A sweep that fails is tried again an hour later: an expired token lets nobody in.
func (s sweeper) Start(ctx context.Context) error {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		if err := s.tokens.Sweep(ctx, time.Now()); err != nil && ctx.Err() == nil {
			logf.FromContext(ctx).Error(err, "sweep join tokens")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// rotator keeps the hub's authority up to date, once a day: its successor must be known to every agent long before the
// present one ends.
type rotator struct {
	rotate func(context.Context) error
}

// Start rotates until the context ends. A rotation that fails is tried again a day later; there are months for it.
func (r rotator) Start(ctx context.Context) error {
	tick := time.NewTicker(24 * time.Hour)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := r.rotate(ctx); err != nil && ctx.Err() == nil {
			logf.FromContext(ctx).Error(err, "rotate the hub's authority")
		}
	}
}
