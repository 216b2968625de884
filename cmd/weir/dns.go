// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/weir-io/weir/dns/server"
	"github.com/weir-io/weir/dns/table"
)

// dnsOptions are the flags of weir dns.
type dnsOptions struct {
	table   string
	every   time.Duration
	check   bool
	output  string
	server  server.Config
	metrics string
	health  string
}

func newDNSCommand(log func() *slog.Logger) *cobra.Command {
	var o dnsOptions
	cmd := &cobra.Command{
		Use:   "dns --table FILE",
		Short: "Answer DNS questions from a table in a file; it needs no cluster",
		Long: `Answer DNS questions from a table in a file; it needs no cluster.

The file is YAML or JSON, and docs/dns.md describes it. It is read anew when it changed and then stayed the same for
--every, or at once on SIGHUP. One that is not usable is told in the log, and the table before it stays in force: replace
it whole, by renaming another over it.

--check reads the file, prints what is answered, and exits: 0 when the file is usable, 1 when it is not.`,
		Example: `  weir dns --table names.yaml --check
  weir dns --table names.yaml --listen 127.0.0.1:1053
  dig @127.0.0.1 -p 1053 echo.demo.global.example.com`,
		Args: noArgument,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := usage(o.validate()); err != nil {
				return err
			}
			if o.check {
				return checkTable(cmd.OutOrStdout(), o)
			}
			return runDNS(cmd.Context(), o, log())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.table, "table", "", "file with the names")
	f.DurationVar(&o.every, "every", time.Second, "how often the file is looked at, and how long it must stay the same before it is read")
	f.BoolVar(&o.check, "check", false, "print what is answered from the file, and exit")
	f.StringVarP(&o.output, "output", "o", table.FormatText, "with --check: text or json")
	f.StringSliceVar(&o.server.Listen, "listen", []string{":1053"}, "host:port to answer on over UDP and TCP; may be given several times")
	f.IntVar(&o.server.MaxConns, "max-tcp-connections", server.DefaultMaxConns, "TCP connections held at a time")
	f.IntVar(&o.server.MaxConnsPerClient, "max-tcp-connections-per-client", server.DefaultMaxConnsPerClient, "TCP connections that one address may hold")
	f.DurationVar(&o.server.IdleTimeout, "tcp-idle-timeout", server.DefaultIdleTimeout, "how long a TCP connection may be silent")
	f.DurationVar(&o.server.LameDuck, "lame-duck", 5*time.Second, "how long to answer on, not ready, after being told to stop")
	f.StringVar(&o.metrics, "metrics-address", ":8080", "address of /metrics and of /answers, which tells what was answered and may still be cached")
	f.StringVar(&o.health, "health-address", ":8081", "address of /healthz and /readyz")
	return cmd
}

func (o dnsOptions) validate() error {
	switch {
	case o.table == "":
		return errors.New("--table is empty: name the file with the names")
	case o.every <= 0:
		return fmt.Errorf("--every %s: give a time above 0", o.every)
	case o.output != table.FormatText && o.output != table.FormatJSON:
		return fmt.Errorf("--output %q: want %s or %s", o.output, table.FormatText, table.FormatJSON)
	case o.server.MaxConns <= 0, o.server.MaxConnsPerClient <= 0:
		return errors.New("--max-tcp-connections and --max-tcp-connections-per-client must be above 0")
	case o.server.IdleTimeout <= 0:
		return fmt.Errorf("--tcp-idle-timeout %s: give a time above 0", o.server.IdleTimeout)
	case o.server.LameDuck < 0:
		return fmt.Errorf("--lame-duck %s: give a time of 0 or above", o.server.LameDuck)
	}
	return nil
}

// checkTable prints what the file says.
func checkTable(w io.Writer, o dnsOptions) error {
	loaded, err := table.Load(o.table)
	if err != nil {
		return err
	}
	return loaded.Print(w, o.output)
}

func runDNS(ctx context.Context, o dnsOptions, log *slog.Logger) error {
	if _, err := table.Load(o.table); err != nil { // Better told before anybody asks.
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	o.server.Metrics, o.server.Log = registry, log
	s, err := server.New(o.server)
	if err != nil {
		return usage(err)
	}
	w, err := table.NewWatcher(table.WatcherConfig{
		Path: o.table, Every: o.every, Metrics: registry, Log: log,
		Apply: func(l table.Loaded) { s.Set(l.Table) },
	})
	if err != nil {
		return err
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	defer signal.Stop(again)

	// What tells of the server lives as long as it does, which is longer than its context.
	asides, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, running := errgroup.WithContext(ctx)
	metrics := http.NewServeMux()
	metrics.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	metrics.Handle("/answers", s)
	group.Go(func() error { return serve(asides, o.metrics, metrics) })
	group.Go(func() error { return serve(asides, o.health, dnsProbes(s)) })
	group.Go(func() error { return w.Run(running, again) })
	group.Go(func() error {
		defer stop()
		return s.Run(running)
	})
	return group.Wait()
}

// dnsProbes answers what is asked of every part of weir: a process that answers lives.
func dnsProbes(s *server.Server) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/healthz", probe(func() error { return nil }))
	mux.Handle("/readyz", probe(s.Ready))
	return mux
}
