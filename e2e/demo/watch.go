// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/load/journal"
	"github.com/weir-io/weir/e2e/rig"
)

// tableEvery is how often the live table is shown, and askLimit how long a
// cluster may take to say how many pods are ready.
const (
	tableEvery = 5 * time.Second
	askLimit   = 2 * time.Second
)

// watch shows the live table until ctx ends.
func (s *stage) watch(ctx context.Context) error {
	tails := map[string]*journal.Tail{}
	for cluster, dir := range s.ledgers {
		tails[cluster] = journal.NewTail(dir, "ledger")
	}
	// What was noted before the watch began is no arrival of its first span.
	if _, err := arrivals(tails); err != nil {
		return err
	}
	last := time.Now()
	tick := time.NewTicker(tableEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		counts, err := arrivals(tails)
		if err != nil {
			return err
		}
		now := time.Now()
		span := now.Sub(last).Seconds()
		last = now
		rows, err := s.rows(ctx, counts, span)
		if err != nil {
			return err
		}
		if err := s.tell.table(rows); err != nil {
			return err
		}
	}
}

// measure looks, until ctx ends, how long proxies wait for a processor.
func (s *stage) measure(ctx context.Context) error {
	proc := os.DirFS("/proc")
	before, err := readWaits(proc)
	if err != nil {
		return err
	}
	last := time.Now()
	tick := time.NewTicker(waitSpan)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now, err := readWaits(proc)
		if err != nil {
			return err
		}
		at := time.Now()
		s.contention.note(load.Span{From: last.UnixNano(), To: at.UnixNano()}, now.worst(before, at.Sub(last)))
		before, last = now, at
	}
}

// rows gathers the table. A cluster that does not answer is shown as such.
func (s *stage) rows(ctx context.Context, counts map[string]int, span float64) ([]row, error) {
	lost, clients := map[string]int{}, map[string]bool{}
	for _, p := range s.places {
		live, err := readLive(p)
		if err != nil {
			return nil, err
		}
		clients[p.Cluster] = true
		lost[p.Cluster] += live.Lost
	}
	weights, fenced := s.shifted(ctx)
	replicas := s.divided(ctx)
	var rows []row
	for _, c := range s.fleet.Members() {
		r := row{
			Cluster: c.Name, Ready: s.ready(ctx, c), Web: replicas[c.Name], Weight: weights[c.Name], Fenced: -1,
			Arrivals: float64(counts[c.Name]) / span, Clients: clients[c.Name], Errors: lost[c.Name],
		}
		if n, ok := fenced[c.Name]; ok {
			r.Fenced = n
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// shifted gives what weir says of each cluster: its weight, and how many pods
// are fenced. Without weir, and while it does not answer, nothing is known.
func (s *stage) shifted(ctx context.Context) (map[string]*weight, map[string]int) {
	weights, fenced := map[string]*weight{}, map[string]int{}
	if s.product == nil {
		return weights, fenced
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	gs, err := s.service(ctx)
	if err != nil {
		return weights, fenced
	}
	for _, c := range gs.Status.Clusters {
		weights[c.Name] = weightOf(gs, c.Name)
		fenced[c.Name] = int(c.Fenced)
	}
	return weights, fenced
}

// divided gives how many replicas each cluster has of the workload that weir
// divides; nothing without one, and while weir does not answer.
func (s *stage) divided(ctx context.Context) map[string]*part {
	parts := map[string]*part{}
	if !s.options.Federated {
		return parts
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	// Reading it keeps its steps: the service itself forgets the oldest.
	_, err := s.webService(ctx)
	if err != nil {
		return parts
	}
	d, err := s.product.Workload(ctx, namespace, webName)
	if err != nil {
		return parts
	}
	for _, c := range d.Status.Clusters {
		parts[c.Name] = &part{Ready: c.Ready, Asked: c.Applied, Wanted: c.Wanted}
	}
	return parts
}

// ready counts the application's ready pods; negative when the cluster is off
// or does not answer in time.
func (s *stage) ready(ctx context.Context, c *rig.Cluster) int {
	if c.Off() {
		return -1
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	client, err := c.Client()
	if err != nil {
		return -1
	}
	d, err := client.AppsV1().Deployments(namespace).Get(ctx, serverName, metav1.GetOptions{})
	if err != nil {
		return -1
	}
	return int(d.Status.ReadyReplicas)
}

// arrivals counts, for each cluster, the requests that reached its pods since
// the last call.
func arrivals(tails map[string]*journal.Tail) (map[string]int, error) {
	counts := map[string]int{}
	for cluster, tail := range tails {
		news, err := tail.Next()
		if err != nil {
			return nil, err
		}
		for _, lines := range news {
			for line := range bytes.Lines(lines) {
				if load.IsArrival(line) {
					counts[cluster]++
				}
			}
		}
	}
	return counts, nil
}
