// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/load/generator"
)

// act is one thing that the demo does under load.
type act struct {
	// name marks the act in files; says tells people what is about to happen.
	name, says string
	do         func(context.Context, *stage) error
}

// play does the acts in order and gives the moments at which they began. Each
// beginning is also marked in the control directory of every client.
func (s *stage) play(ctx context.Context, acts []act) ([]load.Mark, error) {
	var marks []load.Mark
	for _, a := range acts {
		begin := time.Now()
		marks = append(marks, load.Mark{Name: a.name, Time: begin.UnixNano()})
		for _, p := range s.places {
			if err := generator.SetMark(p.Control, a.name, begin); err != nil {
				return marks, err
			}
		}
		s.tell.say("%s", a.says)
		if err := a.do(ctx, s); err != nil {
			return marks, fmt.Errorf("%s: %w", a.name, err)
		}
	}
	return marks, nil
}

// hold lets the load run on for a while.
func hold(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
