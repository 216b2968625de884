// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command e2e starts, checks and ends a fleet of real clusters on this machine, to play with or to test against.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/weir-io/weir/e2e/demo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(demo.ExitCode(err))
	}
}
