// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"time"
)

// victim is the cluster that is taken away. No client runs in it or enters
// through it, so that what is lost is lost by the way it was taken away.
const victim = "c2"

// Lengths of the acts: long enough for several slow requests, and for proxies,
// connections and endpoints to settle.
const (
	steady   = 15 * time.Second
	away     = 15 * time.Second
	powerOff = 30 * time.Second
)

// naiveActs take the victim away without weir, in the two ways people do.
func naiveActs() []act {
	return []act{
		{
			name: "steady", says: "Nothing happens: this is how the application serves from all clusters.",
			do: func(ctx context.Context, _ *stage) error { return hold(ctx, steady) },
		},
		{
			name: "scale-to-zero",
			says: "The application in " + victim + " is scaled to zero. It exits at once when told to, as many programs do; its requests in flight have no one to answer them.",
			do: func(ctx context.Context, s *stage) error {
				if err := s.scale(ctx, victim, 0); err != nil {
					return err
				}
				return hold(ctx, away)
			},
		},
		{
			name: "scale-back", says: "The application in " + victim + " comes back.",
			do: func(ctx context.Context, s *stage) error {
				if err := s.scale(ctx, victim, replicas); err != nil {
					return err
				}
				return hold(ctx, steady)
			},
		},
		{
			name: "power-off",
			says: "Power fails in " + victim + ": first its links go, then everything in it. What was in flight there counts as lost.",
			do: func(ctx context.Context, s *stage) error {
				if err := s.powerOff(ctx, victim); err != nil {
					return err
				}
				return hold(ctx, powerOff)
			},
		},
	}
}
