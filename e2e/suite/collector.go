// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"encoding/hex"
	"errors"
	"sync"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/weir-io/weir/e2e/rig/netns"
)

// Collector takes the traces that the hub sends, as a user's collector would. It is safe for concurrent use.
type Collector struct {
	collector.UnimplementedTraceServiceServer

	mu    sync.Mutex
	spans []*trace.Span
}

// Collect has a collector listen where the hub sends its traces, until stop is called.
func (c *Case) Collect(ctx context.Context) (col *Collector, stop func() error, err error) {
	listener, err := netns.Space{Name: c.Fleet.Hub().Namespace()}.Listen(ctx, "tcp", c.Weir.Collector())
	if err != nil {
		return nil, nil, err
	}
	col = &Collector{}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, col)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	var once sync.Once
	var last error
	stop = func() error {
		once.Do(func() {
			server.Stop()
			if last = <-ended; errors.Is(last, grpc.ErrServerStopped) {
				last = nil
			}
		})
		return last
	}
	c.Undo(func(context.Context) error { return stop() })
	return col, stop, nil
}

// Export implements the collector's service.
func (c *Collector) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range r.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// Trace gives the spans of a trace that have come so far.
func (c *Collector) Trace(id string) []*trace.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*trace.Span
	for _, s := range c.spans {
		if hex.EncodeToString(s.GetTraceId()) == id {
			out = append(out, s)
		}
	}
	return out
}
