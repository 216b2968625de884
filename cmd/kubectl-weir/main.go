// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-weir is the kubectl plug-in of weir: put it on the PATH and type kubectl weir.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/weir-io/weir/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := cli.New().ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	os.Exit(cli.ExitCode(err)) //nolint:gocritic // nothing is left to do for the deferred stop.
}
