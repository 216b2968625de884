// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/weir-io/weir/e2e/load"
)

func TestWrongUsageIsToldApartFromFailure(t *testing.T) {
	t.Setenv("POD_NAME", "")
	t.Setenv("CLUSTER", "")
	serve := []string{"serve", "--ledger", t.TempDir(), "--pod", "p", "--cluster", "c"}
	for name, c := range map[string]struct {
		args []string
		want error
	}{
		"no subcommand":      {nil, errUsage},
		"unknown subcommand": {[]string{"sing"}, errUsage},
		"unknown flag":       {[]string{"serve", "--loud"}, errUsage},
		"argument":           {append(serve, "now"), errUsage},
		"no ledger":          {[]string{"serve", "--pod", "p", "--cluster", "c"}, errUsage},
		"no target":          {[]string{"load", "--client", "m", "--out", t.TempDir()}, errUsage},
		"help":               {[]string{"load", "-h"}, flag.ErrHelp},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), c.args, slog.New(slog.DiscardHandler)); !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
		})
	}
	bad := append(serve, "--on-sigterm", "later", "--listen", "127.0.0.1:0")
	if err := run(t.Context(), bad, slog.New(slog.DiscardHandler)); err == nil || errors.Is(err, errUsage) {
		t.Errorf("error %v", err)
	}
}

func TestALoadThatWasRecordedEndsWellWhateverWasLost(t *testing.T) {
	out := t.TempDir()
	args := []string{"load", "--client", "m", "--target", "http://127.0.0.1:1", "--rate", "50", "--duration", "200ms", "--out", out}
	if err := run(t.Context(), args, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	reports, err := filepath.Glob(filepath.Join(out, "m-*.report.json"))
	if err != nil || len(reports) != 1 {
		t.Fatalf("reports %v, error %v", reports, err)
	}
}

func TestAStarvedRunHasAnErrorOfItsOwn(t *testing.T) {
	if err := verdict(load.Report{Starved: true}); !errors.Is(err, errStarved) {
		t.Errorf("error %v", err)
	}
	if err := verdict(load.Report{Counts: load.Counts{Sent: 1, Lost: 1}}); err != nil {
		t.Errorf("error %v", err)
	}
}
