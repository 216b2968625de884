// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench prints what an answer costs `weir dns` and CoreDNS, in CPU time of the server, in one run.
//
// All servers hold the same names, run at the same time and are asked in turns, several rounds of each, so that what
// else the machine does meets all of them. Each runs on one core. A window of questions is kept under way, so that the
// server has no time to be idle in: how much of the time its threads ran or waited for a core is printed as busy, and a number
// of a server that was not (below 90 %) says little. Names are made up, traffic stays on loopback, and the servers are stopped at the
// end.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"text/tabwriter"
	"time"
)

// options of a run.
type options struct {
	weir, coredns string
	names, rounds int
	round         time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.weir, "weir", "bin/bench/weir", "the program of weir")
	flag.StringVar(&o.coredns, "coredns", "bin/bench/coredns", "CoreDNS, made of dns/bench/coredns")
	flag.IntVar(&o.names, "names", 1000, "how many names are served and asked for")
	flag.IntVar(&o.rounds, "rounds", 5, "how often each server is asked")
	flag.DurationVar(&o.round, "round", 2*time.Second, "how long it is asked each time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run starts all servers, asks them in turns and prints what it cost them.
func run(ctx context.Context, o options, out io.Writer) error {
	dir, err := os.MkdirTemp("", "weir-bench-dns-")
	if err != nil {
		return fmt.Errorf("make a directory for tables: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // Nothing is left to do.
	servers, err := startAll(ctx, o, dir)
	defer func() {
		for _, s := range servers {
			s.stop()
		}
	}()
	if err != nil {
		return err
	}
	results := make([][]result, len(servers))
	for range o.rounds {
		for i, s := range servers {
			r, err := measure(ctx, s, o)
			if err != nil {
				return fmt.Errorf("ask %s: %w", s.title, err)
			}
			results[i] = append(results[i], r)
		}
	}
	return write(out, o, servers, results)
}

// result of one round of one server.
type result struct {
	answers, lost int
	took          time.Duration
	cpu, user     time.Duration
	waited        time.Duration // for a core
}

// perAnswer is the CPU time of one answer, in microseconds.
func (r result) perAnswer() float64 { return micros(r.cpu, r.answers) }

func (r result) userPerAnswer() float64 { return micros(r.user, r.answers) }

func (r result) rate() float64 { return float64(r.answers) / r.took.Seconds() }

// busy is how much of the time the server ran or wanted to, over all threads, so that it may be over 100.
func (r result) busy() float64 { return 100 * (r.cpu + r.waited).Seconds() / r.took.Seconds() }

func micros(d time.Duration, n int) float64 {
	return float64(d.Nanoseconds()) / 1000 / float64(max(n, 1))
}

func measure(ctx context.Context, s *process, o options) (result, error) {
	before, err := s.cpu()
	if err != nil {
		return result{}, err
	}
	began := time.Now()
	answers, lost, err := ask(ctx, s.address, o.names, o.round)
	if err != nil {
		return result{}, err
	}
	r := result{answers: answers, lost: lost, took: time.Since(began)}
	after, err := s.cpu()
	if err != nil {
		return result{}, err
	}
	r.cpu, r.user, r.waited = after.all-before.all, after.user-before.user, after.waited-before.waited
	return r, nil
}

// write prints medians, and how often weir's cost each of the others' is.
func write(out io.Writer, o options, servers []*process, results [][]result) error {
	fmt.Fprintf(out, "DNS: CPU of the server for one answer over UDP. Medians of %d interleaved rounds of %s, %d names, one core for each server.\n\n", o.rounds, o.round, o.names)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "server\tµs\tleast\tmost\tuser µs\tanswers/s\tbusy %\tlost\tthat of weir\t")
	var base float64
	for i, s := range servers {
		cost := spread(results[i], result.perAnswer)
		if i == 0 {
			base = cost[1]
		}
		lost := 0
		for _, r := range results[i] {
			lost += r.lost
		}
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.0f\t%.0f\t%d\t%.1f ×\t\n", s.title, cost[1], cost[0], cost[2],
			spread(results[i], result.userPerAnswer)[1], spread(results[i], result.rate)[1], spread(results[i], result.busy)[1], lost, cost[1]/base)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// spread is the least, the median and the most of a value over all rounds.
func spread(results []result, value func(result) float64) [3]float64 {
	all := make([]float64, 0, len(results))
	for _, r := range results {
		all = append(all, value(r))
	}
	slices.Sort(all)
	return [3]float64{all[0], all[len(all)/2], all[len(all)-1]}
}
