// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command app is both ends of the rig's load in one static binary: the
// application (serve) and its client (load).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes. A starved run is neither good nor bad, so it has its own.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitStarved = 3
)

const usage = `usage: app serve|load [flags]

  serve   answer requests and keep a ledger of them
  load    send requests by a fixed schedule and keep records of them

'app serve -h' and 'app load -h' list the flags.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 machine too busy (load only).
`

// errStarved is returned by a load run that says nothing about the product.
var errStarved = errors.New("machine too busy: requests went out too late, so this run proves nothing; run it again with less beside it")

// errUsage is returned after the flags have been explained.
var errUsage = errors.New("wrong usage")

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:], log)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(exitUsage)
	case errors.Is(err, errStarved):
		fmt.Fprintln(os.Stderr, "app:", err)
		os.Exit(exitStarved)
	default:
		fmt.Fprintln(os.Stderr, "app:", err)
		os.Exit(exitFailed)
	}
}

// run picks the subcommand.
func run(ctx context.Context, args []string, log *slog.Logger) error {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return errUsage
	}
	switch args[0] {
	case "serve":
		return serve(ctx, args[1:], log)
	case "load":
		return send(ctx, args[1:], log)
	default:
		fmt.Fprintf(os.Stderr, "app: %q is no subcommand\n%s", args[0], usage)
		return errUsage
	}
}

// parse reads the flags and refuses arguments after them.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "app %s: %q is not a flag\n", flags.Name(), flags.Arg(0))
		return errUsage
	}
	return nil
}
