// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/load/echo"
	"github.com/weir-io/weir/e2e/rig"
)

// Mode is which story the demo tells.
type Mode string

// Naive takes a cluster away without weir.
const Naive Mode = "naive"

// Options say how to run.
type Options struct {
	Mode Mode
	// Rate is the number of requests a second over all clients.
	Rate float64
	// Seed picks the clients' schedules.
	Seed uint64
	// OutDir takes the result.
	OutDir string
	// Out takes the narration.
	Out io.Writer
	// Keep leaves the fleet whole at the end: power is given back.
	Keep bool
}

// ErrStarved is returned when the machine was too busy twice. It says nothing
// about the product.
var ErrStarved = errors.New("machine too busy: clients or proxies starved twice, so this run proves nothing; run it again with less beside it")

// ErrNothingLost is returned by a naive run that lost nothing. Then the load is
// too weak to show a difference.
var ErrNothingLost = errors.New("the naive run lost nothing, so it controls nothing: raise the rate")

// Run tells the story on a fleet, writes the result and prints the verdict.
func Run(ctx context.Context, fleet *rig.Fleet, o Options) error {
	if o.Mode != Naive {
		return fmt.Errorf("mode %q is not known: use %q", o.Mode, Naive)
	}
	if !(o.Rate > 0) {
		return fmt.Errorf("rate %v: it must be positive", o.Rate)
	}
	tell := newNarrator(o.Out)
	tell.say("The application's image is built and given to all nodes.")
	if err := fleet.Load(ctx, rig.App); err != nil {
		return err
	}
	result, err := attempt(ctx, fleet, o, tell, 1)
	if err == nil && len(result.Starved) > 0 {
		tell.say("The machine was too busy for %s. That run proves nothing; it is run once more.", strings.Join(result.Starved, ", "))
		result, err = attempt(ctx, fleet, o, tell, 2)
	}
	if err != nil {
		return err
	}
	path, err := result.write(o.OutDir)
	if err != nil {
		return err
	}
	tell.say("The account is in %s.", path)
	return judge(result, tell)
}

// attempt runs the whole story once.
func attempt(ctx context.Context, fleet *rig.Fleet, o Options, tell *narrator, number int) (Result, error) {
	s, err := newStage(fleet, o, tell, number)
	if err != nil {
		return Result{}, err
	}
	result, err := s.perform(ctx)
	result.Attempts = number
	if err != nil {
		return result, err
	}
	if o.Keep || len(result.Starved) > 0 {
		err = s.restore(ctx)
	}
	return result, err
}

// perform deploys, plays and settles.
func (s *stage) perform(ctx context.Context) (Result, error) {
	if err := s.clear(ctx); err != nil {
		return Result{}, err
	}
	s.tell.say("The application is deployed: %d pods in each of %d clusters, one Service.", replicas, len(s.fleet.Members()))
	if err := s.deploy(ctx, echo.Exit); err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	// Clients of this machine end with the run, however it ends.
	defer func() {
		cancel()
		_ = s.endOutside()
	}()
	s.tell.say("%d clients send %.0f requests a second, in the mesh and through ingress gateways.", len(s.places), s.options.Rate)
	if err := s.startClients(ctx); err != nil {
		return Result{}, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var watchers errgroup.Group
	watchers.Go(func() error { return s.watch(watching) })
	watchers.Go(func() error { return s.measure(watching) })
	marks, err := s.play(ctx, naiveActs())
	end := time.Now()
	stop()
	if err := errors.Join(err, watchers.Wait(), s.stopClients(ctx)); err != nil {
		return Result{}, err
	}
	books, err := s.books()
	if err != nil {
		return Result{}, err
	}
	result := newResult(s.options, string(s.fleet.Topology), books, marks, end)
	result.contend(s.waited)
	return result, nil
}

// books reads what clients and servers left.
func (s *stage) books() (load.Books, error) {
	runs, err := readRuns(s.places)
	if err != nil {
		return load.Books{}, err
	}
	ledgers, err := readLedgers(s.ledgerDirs())
	return load.Books{Runs: runs, Ledgers: ledgers}, err
}

// judge tells the outcome. The verdict is the last line.
func judge(r Result, tell *narrator) error {
	for _, a := range r.Acts {
		tell.say("%-14s sent %5d, lost %4d, p50 %s, p99 %s", a.Name, a.Sent, a.Lost,
			a.Latency.P50.Round(time.Millisecond), a.Latency.P99.Round(time.Millisecond))
	}
	tell.say("%s; %d POSTs were executed twice.", r.Bound, r.Duplicated)
	if len(r.Starved) > 0 {
		return ErrStarved
	}
	tell.last(load.Verdict(r.Lost+r.InFlight, r.Sent))
	if r.Lost+r.InFlight == 0 {
		return ErrNothingLost
	}
	return nil
}
