// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package flat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/weir-io/weir/e2e/suite"
)

func TestADrainIsOneTraceWithEachStepWriteAndProof(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error {
		col, stop, err := c.Collect(ctx)
		if err != nil {
			return err
		}
		begin := time.Now()
		if err := c.Weir.BeginDrain(ctx, "c2"); err != nil {
			return err
		}
		if err := c.WaitSafe(ctx, "c2"); err != nil {
			return err
		}
		d, err := c.Weir.DrainOf(ctx, "c2")
		if err != nil {
			return err
		}
		if d.Status.TraceID == "" {
			return errors.New("the drain names no trace")
		}
		gs, err := c.Echo(ctx)
		if err != nil {
			return err
		}
		want := map[string]int{"Drain c2": 1, "write ": 1, "proof ": 2}
		for _, s := range suite.Taken(gs, begin, "", "") {
			want["step "+s.Kind]++
		}
		err = c.Until(ctx, 30*time.Second, "the drain's spans", func(context.Context) (string, error) {
			return missing(col.Trace(d.Status.TraceID), want), nil
		})
		if err != nil {
			return err
		}
		c.Logf("%d spans in trace %s", len(col.Trace(d.Status.TraceID)), d.Status.TraceID)
		return errors.Join(orphan(col.Trace(d.Status.TraceID)), stop())
	})
}

// missing says which spans are fewer than wanted. A wanted name that ends in a space stands for all that begin with it.
func missing(spans []*trace.Span, want map[string]int) string {
	var out []string
	for name, n := range want {
		have := 0
		for _, s := range spans {
			if s.GetName() == name || strings.HasSuffix(name, " ") && strings.HasPrefix(s.GetName(), name) {
				have++
			}
		}
		if have < n {
			out = append(out, fmt.Sprintf("%d of %d %q", have, n, name))
		}
	}
	return strings.Join(out, ", ")
}

// orphan names a span whose parent is not in the trace. Exactly one may have none.
func orphan(spans []*trace.Span) error {
	known, roots := map[string]bool{}, 0
	for _, s := range spans {
		known[string(s.GetSpanId())] = true
	}
	for _, s := range spans {
		switch {
		case len(s.GetParentSpanId()) == 0:
			roots++
		case !known[string(s.GetParentSpanId())]:
			return fmt.Errorf("span %q has a parent that is not in the trace", s.GetName())
		}
	}
	if roots != 1 {
		return fmt.Errorf("%d spans without a parent, want 1", roots)
	}
	return nil
}
