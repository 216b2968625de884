// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weir-io/weir/e2e/rig"
)

// exitBusy is the exit code of a run that proves nothing.
const exitBusy = 3

// defaultRate is over all clients, chosen so that two processors carry the
// fleet and the load, and a run of three minutes sends over 10,000 requests.
const defaultRate = 80

// NewCommand gives the command that starts a fleet, runs the demo on it and
// ends it. The rig's own options are the caller's.
func NewCommand(r *rig.Options) *cobra.Command {
	o := Options{}
	attach := false
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Take a cluster away under load and count what is lost",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Out = cmd.OutOrStdout()
			return onFleet(cmd.Context(), *r, attach, o)
		},
	}
	f := cmd.Flags()
	f.StringVar((*string)(&r.Topology), "topology", string(rig.Flat), `"flat": one network; "gateways": one for each member`)
	f.StringVar((*string)(&o.Mode), "mode", string(Weir), `"weir": drain it first; "naive": without weir, which loses some`)
	f.BoolVar(&o.Keep, "keep", false, "leave the fleet running, with the application on it")
	f.BoolVar(&attach, "attach", false, "use the fleet that runs already, and leave it running")
	f.Float64Var(&o.Rate, "rate", defaultRate, "requests a second over all clients")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the clients' schedules")
	f.StringVar(&o.OutDir, "out", filepath.Join("e2e", "out"), "folder for the result")
	return cmd
}

// onFleet runs the demo on a new fleet, or on the one that runs.
func onFleet(ctx context.Context, r rig.Options, attach bool, o Options) (err error) {
	if attach {
		fleet, err := rig.Attach(r.RunDir)
		if err != nil {
			return err
		}
		o.Keep = true
		return Run(ctx, fleet, o)
	}
	fleet, err := rig.Up(ctx, r)
	if err != nil {
		return err
	}
	if !o.Keep {
		defer func() {
			// The fleet goes even when the run was interrupted.
			if down := fleet.Down(context.WithoutCancel(ctx)); down != nil {
				err = errors.Join(err, fmt.Errorf("end the fleet: %w", down))
			}
		}()
	}
	return Run(ctx, fleet, o)
}

// ExitCode gives the exit code for an error of the command: 0 for none, 3 when
// the machine was too busy, else 1.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrStarved):
		return exitBusy
	default:
		return 1
	}
}
