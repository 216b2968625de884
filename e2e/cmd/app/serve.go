// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/weir-io/weir/e2e/load/echo"
)

// serve runs the application until it is told to end.
func serve(ctx context.Context, args []string, log *slog.Logger) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	listen := flags.String("listen", ":8080", "address to serve HTTP/1.1 and clear-text HTTP/2 on")
	ledger := flags.String("ledger", "", "directory of the ledger; it must outlive the pod (required)")
	pod := flags.String("pod", os.Getenv("POD_NAME"), "name of the pod, from POD_NAME")
	cluster := flags.String("cluster", os.Getenv("CLUSTER"), "name of the cluster, from CLUSTER")
	ending := flags.String("on-sigterm", string(echo.Drain), "what to do on SIGTERM: 'exit' at once, or 'drain': serve on until nothing comes any more")
	limit := flags.Duration("drain", 20*time.Second, "the longest that 'drain' may take")
	if err := parse(flags, args); err != nil {
		return err
	}
	if *ledger == "" || *pod == "" || *cluster == "" {
		fmt.Fprintln(os.Stderr, "app serve: --ledger, --pod and --cluster are required")
		return errUsage
	}

	server, err := echo.New(*ledger, *pod, *cluster, log)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", *listen)
	if err != nil {
		return errors.Join(fmt.Errorf("listen: %w", err), server.Close())
	}
	log.Info("serving", "address", l.Addr().String(), "pod", *pod, "cluster", *cluster)
	err = server.Serve(ctx, l, echo.Ending(*ending), *limit)
	return errors.Join(err, server.Close())
}
