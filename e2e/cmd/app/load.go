// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/load/generator"
)

// send runs the generator and prints its report.
func send(ctx context.Context, args []string, log *slog.Logger) error {
	c, stay, err := loadFlags(args)
	if err != nil {
		return err
	}
	log.Info("sending", "client", c.Client, "targets", c.Targets, "ratePerSecond", c.Rate, "seed", c.Seed)
	report, err := generator.Run(ctx, c)
	if err != nil {
		return err
	}
	log.Info("done", "client", c.Client, "sent", report.Sent, "lost", report.Lost, "starved", report.Starved)
	if stay {
		// A container that ends is started again, so one that is done waits to
		// be ended.
		term, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
		defer stop()
		if ctx.Err() == nil {
			<-term.Done()
		}
	}
	return verdict(report)
}

// loadFlags reads the flags of the generator.
func loadFlags(args []string) (generator.Config, bool, error) {
	var c generator.Config
	var stay bool
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.StringVar(&c.Client, "client", os.Getenv("POD_NAME"), "name of this client, from POD_NAME")
	flags.Func("target", "base URL, http://HOST:PORT (required); given again: one more, each gets requests in turn", func(url string) error {
		c.Targets = append(c.Targets, generator.Target{URL: url})
		return nil
	})
	flags.Func("host", "host to ask for, if not that of the target named before it", func(host string) error {
		if len(c.Targets) == 0 {
			return errors.New("no --target stands before it")
		}
		c.Targets[len(c.Targets)-1].Host = host
		return nil
	})
	flags.Float64Var(&c.Rate, "rate", 20, "requests a second over all classes")
	flags.Uint64Var(&c.Seed, "seed", 1, "seed of the schedule")
	flags.DurationVar(&c.Duration, "duration", 0, "length of the run; 0 is until told")
	flags.DurationVar(&c.Timeout, "timeout", 0, "the longest a request may take; 0 is 10s")
	flags.DurationVar(&c.SlowFor, "slow", 0, "how long a slow request is held; 0 is 2s")
	flags.StringVar(&c.Out, "out", "", "directory for records, live numbers and the report (required)")
	flags.StringVar(&c.Control, "control", "", "directory with the files start, stop and mark-NAME; without it the run starts at once")
	flags.BoolVar(&stay, "stay", false, "when done, wait for SIGTERM instead of exiting")
	if err := parse(flags, args); err != nil {
		return c, false, err
	}
	if c.Client == "" || len(c.Targets) == 0 || c.Out == "" {
		fmt.Fprintln(os.Stderr, "app load: --client, --target and --out are required")
		return c, false, errUsage
	}
	return c, stay, nil
}

// verdict prints the report and says whether the run may be judged.
func verdict(report load.Report) error {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(report); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if report.Starved {
		return errStarved
	}
	return nil
}
