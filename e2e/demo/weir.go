// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/load"
)

// killed is the cluster whose pods are killed. Clients run in it: those killed
// are the application's only.
const killed = "c3"

// atLeast is how many requests the verdict must rest on.
const atLeast = 10_000

// pause lies between two acts, so that neither is blamed for the other.
const pause = 3 * time.Second

// undrained is how long a cluster that was powered off without a drain stays away: longer than a request waits for it.
const undrained = 15 * time.Second

// heldLimit is how long weir may take to hold a service.
const heldLimit = 2 * time.Minute

// weirActs are the demo with weir.
func weirActs() []act {
	return []act{
		{
			name: "steady", says: "Nothing happens: this is how the application serves from all clusters.",
			do: func(ctx context.Context, _ *stage) error { return hold(ctx, steady) },
		},
		{
			name: "kill",
			says: "All pods of the application in " + killed + " are killed with SIGKILL, sidecars first. No controller can act in time: what saves requests is in the proxies already.",
			do:   func(ctx context.Context, s *stage) error { return s.killPods(ctx, killed) },
		},
		{
			name: "shrink",
			says: fmt.Sprintf("%s shrinks: its node takes no new pods, and %d replicas of %s are evicted there. The division answers.", shrunk, evicted, webName),
			do:   func(ctx context.Context, s *stage) error { return s.thenPause(ctx, shrink(ctx, s)) },
		},
		{
			name: "drain",
			says: "kubectl weir drain " + victim + ": replicas that weir owns come up elsewhere first, then traffic leaves, and that is proven; replicas go last.",
			do: func(ctx context.Context, s *stage) error {
				return s.thenPause(ctx, s.product.Drain(ctx, victim, s.line))
			},
		},
		{
			name: "power-off-drained", says: "It is safe now, so " + victim + " is powered off: its links first, then everything in it.",
			do: func(ctx context.Context, s *stage) error { return s.thenPause(ctx, s.powerOff(ctx, victim)) },
		},
		{
			name: "power-on", says: "Power returns to " + victim + ". It is still drained: nothing arrives there yet.",
			do: powerOnDrained,
		},
		{
			name: "undrain", says: "kubectl weir undrain " + victim + ": it gets its share back, of replicas and of traffic.",
			do: func(ctx context.Context, s *stage) error {
				return s.thenPause(ctx, s.product.Undrain(ctx, victim, s.line))
			},
		},
		{
			name: "abort", says: "kubectl weir drain " + victim + " again, and half way through undrain: the drain is aborted.",
			do: abort,
		},
		{
			name: "enough", says: fmt.Sprintf("The load goes on until over %d requests were sent.", atLeast),
			do: untilEnough,
		},
		{
			name: "power-off-naive", says: "Last, to show the difference: " + victim + " is powered off without a drain. Its losses are counted apart.",
			do: powerOffNaive,
		},
	}
}

// line passes on a line that kubectl weir told.
func (s *stage) line(text string) { s.tell.say("  %s", text) }

// thenPause waits a little after what was done, keeps the steps it took, tells
// where replicas are, and tells its error.
func (s *stage) thenPause(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	if err := hold(ctx, pause); err != nil {
		return err
	}
	if _, err := s.service(ctx); err != nil {
		return err
	}
	return s.tellDivision(ctx)
}

// service reads the application's GlobalService and keeps its steps.
func (s *stage) service(ctx context.Context) (v1alpha1.GlobalService, error) {
	gs, err := s.product.Service(ctx, namespace, serverName)
	if err == nil {
		s.history.keep(gs)
	}
	return gs, err
}

// powerOnDrained gives power back and waits until weir hears the cluster.
func powerOnDrained(ctx context.Context, s *stage) error {
	if err := s.restore(ctx); err != nil {
		return err
	}
	return s.thenPause(ctx, s.product.WaitMember(ctx, victim, readyLimit))
}

// abort begins a drain and turns it round when the victim's weight has fallen.
func abort(ctx context.Context, s *stage) error {
	gs, err := s.service(ctx)
	if err != nil {
		return err
	}
	before := weightOf(gs, victim)
	if err := s.product.BeginDrain(ctx, victim); err != nil {
		return err
	}
	err = poll(ctx, readyLimit, func() (bool, error) {
		gs, err := s.service(ctx)
		if err != nil {
			return false, err
		}
		w := weightOf(gs, victim)
		// A written weight below zero means that members do not agree yet.
		return w != nil && before != nil && w.Written >= 0 && w.Written < before.Written, nil
	})
	if err != nil {
		return fmt.Errorf("the weight of %s did not fall: %w", victim, err)
	}
	s.tell.say("Some of its traffic has gone. Now back.")
	return s.thenPause(ctx, s.product.Undrain(ctx, victim, s.line))
}

// weightOf gives a cluster's weight; nil when the service does not say.
func weightOf(gs v1alpha1.GlobalService, cluster string) *weight {
	for _, c := range gs.Status.Clusters {
		if c.Name == cluster {
			return &weight{Wanted: c.Weight.Wanted, Written: c.Weight.Written, Proven: c.Weight.ProvenHigh}
		}
	}
	return nil
}

// untilEnough lets the load run on until the verdict can rest on enough
// requests. Those set apart do not count.
func untilEnough(ctx context.Context, s *stage) error {
	return poll(ctx, time.Duration(2*atLeast/s.options.Rate)*time.Second, func() (bool, error) {
		sent := 0
		for _, p := range s.places {
			live, err := readLive(p)
			if err != nil {
				return false, err
			}
			sent += live.Sent
		}
		return sent > atLeast+atLeast/10, nil
	})
}

// powerOffNaive takes the victim away undrained, and sets what happens from
// then on apart.
func powerOffNaive(ctx context.Context, s *stage) error {
	span := load.Span{From: time.Now().UnixNano()}
	err := errors.Join(s.powerOff(ctx, victim), hold(ctx, undrained))
	span.To = time.Now().Add(endLimit).UnixNano()
	s.naive = append(s.naive, span)
	return err
}
