// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func drainOfCluster(cluster, uid string) *v1alpha1.ClusterDrain {
	since := metav1.NewTime(began)
	return &v1alpha1.ClusterDrain{
		ObjectMeta: metav1.ObjectMeta{Name: cluster, UID: types.UID(uid)},
		Spec:       v1alpha1.ClusterDrainSpec{ClusterName: cluster},
		Status:     v1alpha1.ClusterDrainStatus{Goal: v1alpha1.GoalDrain, StartedAt: &since},
	}
}

// process is one life of the hub.
func process() (*Tracer, func() tracetest.SpanStubs) {
	out := tracetest.NewInMemoryExporter()
	p := sdktrace.NewTracerProvider(sdktrace.WithSyncer(out), sdktrace.WithIDGenerator(Generator{}), sdktrace.WithSampler(sdktrace.AlwaysSample()))
	return New(p), out.GetSpans
}

func record(kind, cluster string) v1alpha1.StepRecord {
	return v1alpha1.StepRecord{Kind: kind, Cluster: cluster, Goal: v1alpha1.GoalDrain, Generation: 4, StartedAt: metav1.NewMicroTime(began.Add(time.Second))}
}

func TestADrainIsOneTraceOverRestarts(t *testing.T) {
	d := drainOfCluster("c2", "u1")
	gs := &v1alpha1.GlobalService{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "echo"}}
	first, firstSpans := process()
	first.Step(gs, []v1alpha1.ClusterDrain{*d}, record("Split", "c2"))
	second, secondSpans := process()
	_, end := second.Write(t.Context(), d, "c1", "virtualservices demo/echo")
	end(nil)
	second.Proof(d, "weights", began.Add(2*time.Second), began.Add(4*time.Second), 4)
	second.Drain(d, began.Add(time.Minute))

	spans := append(firstSpans(), secondSpans()...)
	if len(spans) != 4 {
		t.Fatalf("got %d spans", len(spans))
	}
	root := spans[3]
	if root.Name != "Drain c2" || root.Parent.IsValid() || !root.StartTime.Equal(began) || !root.EndTime.Equal(began.Add(time.Minute)) {
		t.Fatalf("root %+v", root)
	}
	if got := root.SpanContext.TraceID().String(); got != ID(d) {
		t.Errorf("trace is %s, status says %s", got, ID(d))
	}
	for i, name := range []string{"step Split", "write virtualservices demo/echo", "proof weights"} {
		s := spans[i]
		if s.Name != name || s.SpanContext.TraceID() != root.SpanContext.TraceID() || s.Parent.SpanID() != root.SpanContext.SpanID() {
			t.Errorf("span %q of trace %s under %s; the root is %s", s.Name, s.SpanContext.TraceID(), s.Parent.SpanID(), root.SpanContext.SpanID())
		}
	}
	if s := spans[0]; !s.StartTime.Equal(began.Add(time.Second)) {
		t.Errorf("the step began at %s", s.StartTime)
	}
	if s := spans[2]; s.EndTime.Sub(s.StartTime) != 2*time.Second {
		t.Errorf("the proof took %s", s.EndTime.Sub(s.StartTime))
	}
}

func TestTwoMovesAreTwoTraces(t *testing.T) {
	moves := map[string]*v1alpha1.ClusterDrain{"a drain": drainOfCluster("c2", "u1"), "another object": drainOfCluster("c2", "u2")}
	abort := drainOfCluster("c2", "u1")
	abort.Status.Goal = v1alpha1.GoalAbort
	moves["its abort"] = abort
	later := drainOfCluster("c2", "u1")
	at := metav1.NewTime(began.Add(time.Second))
	later.Status.StartedAt = &at
	moves["the next drain by the same object"] = later
	seen := map[string]string{}
	for name, d := range moves {
		if other, taken := seen[ID(d)]; taken {
			t.Errorf("%s shares its trace with %s", name, other)
		}
		seen[ID(d)] = name
	}
}

func TestAWriteThatFailsSaysSo(t *testing.T) {
	tracer, spans := process()
	_, end := tracer.Write(t.Context(), drainOfCluster("c2", "u1"), "c1", "x")
	end(errors.New("down"))
	if s := spans(); len(s) != 1 || s[0].Status.Code != codes.Error || s[0].Status.Description != "down" {
		t.Errorf("got %+v", s)
	}
}

func TestWhatServesNoDrainLeavesNoSpan(t *testing.T) {
	tracer, spans := process()
	idle := drainOfCluster("c2", "u1")
	idle.Status.StartedAt = nil
	gs := &v1alpha1.GlobalService{}
	_, end := tracer.Write(t.Context(), nil, "c1", "x")
	end(nil)
	tracer.Proof(nil, "weights", began, began, 1)
	tracer.Proof(idle, "weights", began, began, 1)
	tracer.Drain(idle, began)
	tracer.Step(gs, []v1alpha1.ClusterDrain{*idle}, record("Split", "c2"))
	tracer.Step(gs, []v1alpha1.ClusterDrain{*drainOfCluster("c2", "u1")}, record("Split", "c3"))
	if s := spans(); len(s) != 0 {
		t.Errorf("got %+v", s)
	}
	if id := ID(idle); id != "" {
		t.Errorf("trace %s", id)
	}
}

func TestATracerThatIsNilSendsNothingAndBreaksNothing(t *testing.T) {
	var none *Tracer
	d := drainOfCluster("c2", "u1")
	none.Step(&v1alpha1.GlobalService{}, []v1alpha1.ClusterDrain{*d}, record("Split", "c2"))
	none.Proof(d, "weights", began, began, 1)
	none.Drain(d, began)
	ctx, end := none.Write(t.Context(), d, "c1", "x")
	end(errors.New("down"))
	if ctx != t.Context() {
		t.Error("the context changed")
	}
}

func TestAStepOfNoClusterBelongsToTheFirstDrain(t *testing.T) {
	drains := []v1alpha1.ClusterDrain{*drainOfCluster("c2", "u1"), *drainOfCluster("c3", "u2")}
	if got := IDOf(drains, ""); got != ID(&drains[0]) {
		t.Errorf("got %s", got)
	}
	if got := IDOf(drains, "c3"); got != ID(&drains[1]) {
		t.Errorf("got %s", got)
	}
	if got := IDOf(drains, "c9"); got != "" {
		t.Errorf("got %s", got)
	}
}

func TestOtherSpansHaveIdentifiersOfTheirOwn(t *testing.T) {
	var g Generator
	a, as := g.NewIDs(t.Context())
	b, bs := g.NewIDs(t.Context())
	if a == b || as == bs || !a.IsValid() || !as.IsValid() || as == g.NewSpanID(t.Context(), a) {
		t.Errorf("%s %s, %s %s", a, as, b, bs)
	}
	if got := trace.SpanContextFromContext(Within(t.Context(), nil)); got.IsValid() {
		t.Errorf("under no drain there is a span: %+v", got)
	}
}
