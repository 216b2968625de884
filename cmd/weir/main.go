// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command weir is both ends of weir in one program, the hub and the agent in each member, the server of its names,
// and questions asked of files. It holds flags and wiring.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/weir-io/weir/cli"
)

// version is set when the program is built.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(cli.ExitCode(err)) //nolint:gocritic // nothing is left to do for the deferred stop.
	}
}

func newCommand() *cobra.Command {
	level := new(slog.LevelVar)
	text := ""
	log := func() *slog.Logger {
		return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	}
	root := &cobra.Command{
		Use:           "weir",
		Short:         "Move traffic between clusters first, and pods after",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(fmt.Errorf("there is no command %q; see %s --help", args[0], cmd.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if err := level.UnmarshalText([]byte(text)); err != nil {
				return usage(fmt.Errorf("--log-level %q: want debug, info, warn or error", text))
			}
			return nil
		},
	}
	root.PersistentFlags().StringVar(&text, "log-level", "info", "debug, info, warn or error")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.AddCommand(newHubCommand(log), newAgentCommand(log), newDNSCommand(log), cli.NewSimulate())
	return root
}

// usage makes err one of the command line, and nil stays nil.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &cli.ExitError{Code: cli.ExitUsage, Err: err}
}

func noArgument(cmd *cobra.Command, args []string) error { return usage(cobra.NoArgs(cmd, args)) }
