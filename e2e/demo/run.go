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

	"github.com/weir-io/weir/e2e/demo/product"
	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/load/echo"
	"github.com/weir-io/weir/e2e/rig"
)

// Mode is which story the demo tells.
type Mode string

// The modes: Weir takes a cluster away with weir, Naive without.
const (
	Weir  Mode = "weir"
	Naive Mode = "naive"
)

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
	// Federated has weir divide a workload over all clusters too, which gets
	// half of the load. It needs weir; the demo with weir always does.
	Federated bool
	// Policy names the TrafficPolicy of that workload's traffic; empty is weir's
	// own.
	Policy string
	// Global has one more client outside, which looks the services' global names
	// up at weir's hub and enters by what it gets. It needs weir; the demo with
	// weir always has it.
	Global bool
	// Hasty has that workload exit at once when it is told to end, with no more
	// time than its sidecar takes to drain.
	Hasty bool
	// Weir is weir, where it is on the fleet already. Else the run installs it,
	// unless it is the naive one.
	Weir *product.Product
}

// ErrStarved is returned when the machine was too busy twice. It says nothing
// about the product.
var ErrStarved = errors.New("machine too busy: clients or proxies starved twice, so this run proves nothing; run it again with less beside it")

// ErrNothingLost is returned by a naive run that lost nothing. Then the load is
// too weak to show a difference.
var ErrNothingLost = errors.New("the naive run lost nothing, so it controls nothing: raise the rate")

// ErrLost is returned when requests were lost that weir answers for.
var ErrLost = errors.New("requests were lost or executed twice: the failures are in the file")

// Run tells the story on a fleet, writes the result and prints the verdict.
func Run(ctx context.Context, fleet *rig.Fleet, o Options) error {
	if o.Mode != Naive && o.Mode != Weir {
		return fmt.Errorf("mode %q is not known: use %q or %q", o.Mode, Weir, Naive)
	}
	if !(o.Rate > 0) {
		return fmt.Errorf("rate %v: it must be positive", o.Rate)
	}
	tell := newNarrator(o.Out)
	tell.say("The application's image is built and given to all nodes.")
	if err := fleet.Load(ctx, rig.App); err != nil {
		return err
	}
	o.Federated, o.Global = o.Mode == Weir, o.Mode == Weir
	weir, err := install(ctx, fleet, o, tell)
	if err != nil {
		return err
	}
	result, err := attempt(ctx, fleet, weir, o, tell, 1)
	if err == nil && len(result.Starved) > 0 {
		tell.say("The machine was too busy for %s. That run proves nothing; it is run once more.", strings.Join(result.Starved, ", "))
		result, err = attempt(ctx, fleet, weir, o, tell, 2)
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

// install gives weir, installed when it is not there yet; nil in the naive run.
func install(ctx context.Context, fleet *rig.Fleet, o Options, tell *narrator) (*product.Product, error) {
	if o.Mode == Naive {
		return nil, nil
	}
	if o.Weir != nil {
		return o.Weir, nil
	}
	return product.Install(ctx, fleet, func(text string) { tell.say("%s", text) }, namespace)
}

// attempt runs the whole story once.
func attempt(ctx context.Context, fleet *rig.Fleet, weir *product.Product, o Options, tell *narrator, number int) (Result, error) {
	s, err := newStage(fleet, weir, o, tell, number)
	if err != nil {
		return Result{}, err
	}
	result, err := s.perform(ctx)
	result.Attempts = number
	if err != nil {
		if weir != nil {
			err = fmt.Errorf("%w\n%s", err, weir.Brief(ctx, namespace, Service, webName))
		}
		return result, err
	}
	if o.Keep || len(result.Starved) > 0 {
		err = s.restore(ctx)
	}
	return result, err
}

// perform deploys, plays and settles.
func (s *stage) perform(ctx context.Context) (Result, error) {
	if err := s.prepare(ctx); err != nil {
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
	marks, err := s.play(ctx, s.acts())
	end := time.Now()
	stop()
	if err := errors.Join(err, watchers.Wait(), s.stopClients(ctx)); err != nil {
		return Result{}, err
	}
	books, err := s.books(ctx)
	if err != nil {
		return Result{}, err
	}
	result := newResult(s.options, string(s.fleet.Topology), books, marks, end)
	result.Steps = s.history.all()
	result.contend(s.contention.worst(load.Span{To: end.UnixNano()}))
	return result, nil
}

// prepare puts the application on the fleet, and waits until weir holds it.
func (s *stage) prepare(ctx context.Context) error {
	if err := s.clear(ctx); err != nil {
		return err
	}
	s.tell.say("The application is deployed: %d pods in each of %d clusters, one Service.", replicas, len(s.fleet.Members()))
	if s.product == nil {
		return s.deploy(ctx, echo.Exit)
	}
	if err := s.deploy(ctx, echo.Drain); err != nil {
		return err
	}
	if err := s.product.WaitService(ctx, namespace, serverName, heldLimit); err != nil {
		return err
	}
	if !s.options.Federated {
		return s.waitReleased(ctx)
	}
	s.tell.say("A FederatedDeployment of %d replicas and its FederatedService are applied in the hub.", webReplicas)
	if err := s.deployWeb(ctx); err != nil {
		return err
	}
	return s.tellDivision(ctx)
}

// acts are those of the mode.
func (s *stage) acts() []act {
	if s.product == nil {
		return naiveActs()
	}
	return weirActs()
}

// books reads what clients, proxies and servers left.
func (s *stage) books(ctx context.Context) (load.Books, error) {
	b := load.Books{Kills: s.kills, Unprotected: s.unprotected, Naive: s.naive}
	var err error
	if b.Runs, err = readRuns(s.places); err != nil {
		return b, err
	}
	if b.Ledgers, err = readLedgers(s.ledgerDirs()); err != nil {
		return b, err
	}
	b.Seen, err = s.seen(ctx)
	return b, err
}
