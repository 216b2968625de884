// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/tracing"
)

// collector is an OTLP collector that keeps what it is sent.
type collector struct {
	tracepb.UnimplementedTraceServiceServer

	sent chan *tracepb.ExportTraceServiceRequest
}

func (c *collector) Export(_ context.Context, r *tracepb.ExportTraceServiceRequest) (*tracepb.ExportTraceServiceResponse, error) {
	c.sent <- r
	return &tracepb.ExportTraceServiceResponse{}, nil
}

func TestADrainsTraceReachesTheCollectorAndTheGuideNamesItsSpansAndAttributes(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{sent: make(chan *tracepb.ExportTraceServiceRequest, 1)}
	server := grpc.NewServer()
	tracepb.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	provider, err := newTraces(t.Context(), hubOptions{otlpEndpoint: listener.Addr().String(), otlpInsecure: true})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	since := metav1.NewTime(now)
	d := &v1alpha1.ClusterDrain{ObjectMeta: metav1.ObjectMeta{Name: "c2", UID: "u"}, Spec: v1alpha1.ClusterDrainSpec{ClusterName: "c2"}, Status: v1alpha1.ClusterDrainStatus{Goal: v1alpha1.GoalDrain, StartedAt: &since}}
	tracer := tracing.New(provider)
	tracer.Step(&v1alpha1.GlobalService{}, []v1alpha1.ClusterDrain{*d}, v1alpha1.StepRecord{Kind: "Split", Cluster: "c2", StartedAt: metav1.NewMicroTime(now)})
	_, end := tracer.Write(t.Context(), d, "c1", "virtualservices demo/echo")
	end(nil)
	tracer.Proof(d, "weights", now, now, 1)
	tracer.Drain(d, now)
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}

	raw, err := os.ReadFile("../../" + operations)
	if err != nil {
		t.Fatal(err)
	}
	_, guide, _ := strings.Cut(string(raw), "\n## Traces\n")
	sent := (<-c.sent).GetResourceSpans()[0]
	if a := sent.GetResource().GetAttributes(); len(a) != 1 || a[0].GetKey() != "service.name" || a[0].GetValue().GetStringValue() != "weir-hub" {
		t.Errorf("of %v", a)
	}
	var names []string
	for _, span := range sent.GetScopeSpans()[0].GetSpans() {
		names = append(names, span.GetName())
		kind, _, _ := strings.Cut(span.GetName(), " ")
		if !strings.Contains(guide, "`"+kind+" ") {
			t.Errorf("%s, Traces: span %q is missing", operations, span.GetName())
		}
		for _, a := range span.GetAttributes() {
			if !strings.Contains(guide, "`"+a.GetKey()+"`") {
				t.Errorf("%s, Traces: attribute %s of %q is missing", operations, a.GetKey(), span.GetName())
			}
		}
	}
	if !slices.Equal(names, []string{"step Split", "write virtualservices demo/echo", "proof weights", "Drain c2"}) {
		t.Errorf("spans %q", names)
	}
}
