// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/weir-io/weir/api/v1alpha1"
)

// Tracer adds spans to the traces of drains. It is safe for concurrent use; nil is a Tracer that sends nothing.
type Tracer struct {
	tracer trace.Tracer
}

// New returns a Tracer over a provider whose IDGenerator must be Generator.
func New(p trace.TracerProvider) *Tracer { return &Tracer{tracer: p.Tracer("weir")} }

// root is what the identifiers of one move's trace follow from.
func root(d *v1alpha1.ClusterDrain) (trace.TraceID, trace.SpanID) {
	key := string(d.UID) + "/" + string(d.Status.Goal)
	if d.Status.StartedAt != nil {
		key += "/" + d.Status.StartedAt.UTC().Format(time.RFC3339)
	}
	sum := sha256.Sum256([]byte(key))
	var t trace.TraceID
	var s trace.SpanID
	copy(t[:], sum[:16])
	copy(s[:], sum[16:24])
	return t, s
}

// ID returns the trace of a drain's present goal; empty before a goal was set.
func ID(d *v1alpha1.ClusterDrain) string {
	if d.Status.StartedAt == nil {
		return ""
	}
	t, _ := root(d)
	return t.String()
}

// IDOf returns the trace of the drain that moves cluster; where cluster is empty, of the first drain.
func IDOf(drains []v1alpha1.ClusterDrain, cluster string) string {
	if d := drainOf(drains, cluster); d != nil {
		return ID(d)
	}
	return ""
}

func drainOf(drains []v1alpha1.ClusterDrain, cluster string) *v1alpha1.ClusterDrain {
	for i := range drains {
		if d := &drains[i]; d.Status.StartedAt != nil && (cluster == "" || d.Spec.ClusterName == cluster) {
			return d
		}
	}
	return nil
}

// Within returns a context under the root span of a drain.
func Within(ctx context.Context, d *v1alpha1.ClusterDrain) context.Context {
	if d == nil || d.Status.StartedAt == nil {
		return ctx
	}
	t, s := root(d)
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: t, SpanID: s, TraceFlags: trace.FlagsSampled, Remote: true,
	}))
}

// Step adds the span of a step that was planned.
func (t *Tracer) Step(gs *v1alpha1.GlobalService, drains []v1alpha1.ClusterDrain, r v1alpha1.StepRecord) {
	d := drainOf(drains, r.Cluster)
	for i := range drains {
		if r.TraceID != "" && ID(&drains[i]) == r.TraceID {
			d = &drains[i] // a step in another cluster, for the sake of this one's drain
		}
	}
	if t == nil || d == nil {
		return
	}
	_, span := t.tracer.Start(Within(context.Background(), d), "step "+r.Kind, trace.WithTimestamp(r.StartedAt.Time), trace.WithAttributes(
		attribute.String("weir.service", gs.Namespace+"/"+gs.Name), attribute.String("weir.cluster", r.Cluster),
		attribute.String("weir.goal", string(r.Goal)), attribute.Int64("weir.generation", r.Generation),
		attribute.String("weir.message", r.Message),
	))
	span.End()
}

// Write adds the span of a write to a member, under the drain if one is going on. It returns what ends the span.
func (t *Tracer) Write(ctx context.Context, d *v1alpha1.ClusterDrain, cluster, what string) (context.Context, func(error)) {
	return t.span(ctx, d, "write "+what, attribute.String("weir.cluster", cluster))
}

// Proof adds the span of a proof, from when it was asked for to when it stood.
func (t *Tracer) Proof(d *v1alpha1.ClusterDrain, what string, asked, stood time.Time, generation int64) {
	if t == nil || d == nil || d.Status.StartedAt == nil {
		return
	}
	_, span := t.tracer.Start(Within(context.Background(), d), "proof "+what, trace.WithTimestamp(asked),
		trace.WithAttributes(attribute.Int64("weir.generation", generation)))
	span.End(trace.WithTimestamp(stood))
}

// Drain sends the root span of a move that has reached its goal.
func (t *Tracer) Drain(d *v1alpha1.ClusterDrain, end time.Time) {
	if t == nil || d.Status.StartedAt == nil {
		return
	}
	id, span := root(d)
	ctx := context.WithValue(context.Background(), forced{}, rootIDs{id, span})
	_, s := t.tracer.Start(ctx, string(d.Status.Goal)+" "+d.Spec.ClusterName, trace.WithNewRoot(),
		trace.WithTimestamp(d.Status.StartedAt.Time), trace.WithAttributes(attribute.String("weir.cluster", d.Spec.ClusterName)))
	s.End(trace.WithTimestamp(end))
}

func (t *Tracer) span(ctx context.Context, d *v1alpha1.ClusterDrain, name string, attrs ...attribute.KeyValue) (context.Context, func(error)) {
	if t == nil || d == nil {
		return ctx, func(error) {}
	}
	ctx, span := t.tracer.Start(Within(ctx, d), name, trace.WithAttributes(attrs...))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

type forced struct{}

type rootIDs struct {
	trace trace.TraceID
	span  trace.SpanID
}

// Generator draws identifiers at random, save for root spans of drains, which Tracer.Drain asks for by name.
type Generator struct{}

// NewIDs gives a root span its identifiers.
func (g Generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if ids, ok := ctx.Value(forced{}).(rootIDs); ok {
		return ids.trace, ids.span
	}
	var t trace.TraceID
	_, _ = rand.Read(t[:]) // crypto/rand never fails: it ends the program instead.
	return t, g.NewSpanID(ctx, t)
}

// NewSpanID gives any other span its identifier.
func (Generator) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	var s trace.SpanID
	_, _ = rand.Read(s[:]) // crypto/rand never fails: it ends the program instead.
	return s
}
