// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Sizes of the measurement of views: each round a pod comes to every member.
const (
	agentCount = 100
	lagRounds  = 50
	lagEvery   = 200 * time.Millisecond
)

// The hub's metrics that are read.
const (
	metricInStep = "weir_view_in_step"
	metricLag    = "weir_view_event_lag_seconds"
)

// Views runs weir's hub as a program on a fleet's API server, has a hundred agents tell it of a hundred nodes each, and prints
// how far its views are behind, and what memory it takes. Repo is the root of weir's source, for the definitions.
func Views(ctx context.Context, g Ground, repo string, out io.Writer) (err error) {
	kube, err := prepare(ctx, g, repo)
	if err != nil {
		return err
	}
	hub, err := startProgram(ctx, g)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hub.stop()) }()
	if _, err := hub.until(ctx, "the hub to lead", leads); err != nil {
		return err
	}
	keys, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return fmt.Errorf("make a folder for the agents' keys: %w", err)
	}
	life, end := context.WithCancel(ctx)
	var running errgroup.Group
	defer func() {
		end()
		err = errors.Join(err, running.Wait(), os.RemoveAll(keys))
	}()
	begin := time.Now()
	agents, err := startAgents(life, &running, g, kube, keys, agentCount)
	if err != nil {
		return err
	}
	before, err := hub.until(ctx, "all views", func(m map[string]*dto.MetricFamily) bool { return sum(m[metricInStep]) == agentCount })
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d agents with %d nodes each: the hub had all views after %s\n", agentCount, nodesEach, time.Since(begin).Round(time.Millisecond))
	return hub.lag(ctx, agents, before, out)
}

// lag has pods come, waits until the hub knows of them all, and prints how long that took it.
func (p *program) lag(ctx context.Context, agents []*agent, before map[string]*dto.MetricFamily, out io.Writer) error {
	begin := time.Now()
	tick := time.NewTicker(lagEvery)
	defer tick.Stop()
	for range lagRounds {
		for _, a := range agents {
			if err := a.come(ctx); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	want := first(before[metricLag]) + uint64(lagRounds*len(agents))
	after, err := p.until(ctx, "all events", func(m map[string]*dto.MetricFamily) bool { return first(m[metricLag]) >= want })
	if err != nil {
		return err
	}
	memory, err := p.resident()
	if err != nil {
		return err
	}
	p50, p99 := within(before[metricLag], after[metricLag], 0.5), within(before[metricLag], after[metricLag], 0.99)
	fmt.Fprintf(out, "%d events in %s, a pod to each member every %s: in the view within %s at the median, %s for 99 of 100\n",
		lagRounds*len(agents), time.Since(begin).Round(time.Millisecond), lagEvery, p50, p99)
	fmt.Fprintf(out, "  the hub's program holds %.0f MiB of memory\n", memory)
	return nil
}

// prepare gives the API server weir's definitions, and the hub its namespace and its members' registrations.
func prepare(ctx context.Context, g Ground, repo string) (kubernetes.Interface, error) {
	if err := define(ctx, g, repo); err != nil {
		return nil, err
	}
	config, err := g.REST()
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: hubNamespace}}
	if _, err := kube.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("make namespace %s: %w", hubNamespace, err)
	}
	return kube, register(ctx, c, agentCount)
}

// leads says whether the hub holds the lock, without which it serves no agent.
func leads(m map[string]*dto.MetricFamily) bool { return sum(m["leader_election_master_status"]) == 1 }

// sum adds up all series of a counter or a gauge.
func sum(f *dto.MetricFamily) float64 {
	total := 0.0
	for _, m := range f.GetMetric() {
		total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return total
}

// within is the least bound of a histogram below which that part of what came between two readings lies.
func within(before, after *dto.MetricFamily, part float64) time.Duration {
	counts := map[float64]uint64{}
	for _, m := range before.GetMetric() {
		for _, b := range m.GetHistogram().GetBucket() {
			counts[b.GetUpperBound()] = b.GetCumulativeCount()
		}
	}
	for _, m := range after.GetMetric() {
		all := m.GetHistogram().GetSampleCount() - first(before)
		for _, b := range m.GetHistogram().GetBucket() {
			if !math.IsInf(b.GetUpperBound(), 1) && float64(b.GetCumulativeCount()-counts[b.GetUpperBound()]) >= part*float64(all) {
				return time.Duration(b.GetUpperBound() * float64(time.Second))
			}
		}
	}
	return time.Duration(math.MaxInt64)
}

// first is how much a histogram of one series had counted.
func first(f *dto.MetricFamily) uint64 {
	for _, m := range f.GetMetric() {
		return m.GetHistogram().GetSampleCount()
	}
	return 0
}
