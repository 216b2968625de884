// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/weir-io/weir/mesh/prover/census"
	"github.com/weir-io/weir/mesh/prover/quiet"
)

const (
	// parallelScrapes bounds the sidecars that are asked at once.
	parallelScrapes = 16
	// maxStatistics bounds one sidecar's statistics.
	maxStatistics = 32 << 20
)

// measure scrapes, at its pace, the pods of all active targets until ctx ends.
func (p *Prover) measure(ctx context.Context) {
	ticker := time.NewTicker(p.cfg.QuietInterval)
	defer ticker.Stop()
	for {
		if p.scrapeAll(ctx) {
			signal(p.changed)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// scrapeAll scrapes each pod once, and tells whether there was any.
func (p *Prover) scrapeAll(ctx context.Context) bool {
	pods := p.measured()
	limit := make(chan struct{}, parallelScrapes)
	var wg sync.WaitGroup
	for id, pod := range pods {
		wg.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			p.scrape(ctx, id, pod)
		})
	}
	wg.Wait()
	return len(pods) > 0
}

// measured returns the pods that active targets choose, and lets the tracker
// forget all others.
func (p *Prover) measured() map[quiet.ID]census.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[quiet.ID]census.Pod{}
	p.chosen = map[Key]map[quiet.ID]bool{}
	for _, t := range p.targets {
		if !t.Active {
			continue
		}
		of := map[quiet.ID]bool{}
		p.chosen[t.Key()] = of
		for _, pod := range p.pods {
			if pod.Phase != census.PhaseDone && t.selects(pod) {
				out[idOf(pod)] = pod
				of[idOf(pod)] = true
			}
		}
	}
	ids := make([]quiet.ID, 0, len(out))
	for id := range out {
		ids = append(ids, id)
	}
	p.tracker.Keep(ids)
	return out
}

func idOf(p census.Pod) quiet.ID {
	return quiet.ID{Namespace: p.Namespace, Name: p.Name, UID: p.UID}
}

// selects tells whether the target's selector chooses the pod.
func (t Target) selects(pod census.Pod) bool {
	if len(t.Selector) == 0 || pod.Namespace != t.Namespace {
		return false
	}
	for k, v := range t.Selector {
		if pod.Labels[k] != v {
			return false
		}
	}
	return true
}

func (p *Prover) scrape(ctx context.Context, id quiet.ID, pod census.Pod) {
	var sample quiet.Sample
	reason := ""
	switch {
	case pod.Kind == census.KindNone:
		reason = quiet.ReasonNoSidecar
	case !pod.IP.IsValid():
		reason = quiet.ReasonNoAnswer
	default:
		var err error
		if sample, err = p.statistics(ctx, pod); err != nil {
			p.cfg.Log.Debug("can not read a sidecar's statistics", "pod", pod.Name, "namespace", pod.Namespace, "error", err)
			reason = quiet.ReasonNoAnswer
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if reason != "" {
		p.tracker.Missed(id, time.Now(), reason)
		return
	}
	p.tracker.Seen(id, time.Now(), sample)
}

func (p *Prover) statistics(ctx context.Context, pod census.Pod) (quiet.Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	where := "http://" + net.JoinHostPort(pod.IP.String(), strconv.Itoa(p.cfg.StatsPort)) + "/stats/prometheus"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return quiet.Sample{}, err
	}
	resp, err := p.plain.Do(req)
	if err != nil {
		return quiet.Sample{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return quiet.Sample{}, fmt.Errorf("answer %d", resp.StatusCode)
	}
	side := quiet.Application
	if pod.Kind == census.KindGateway {
		side = quiet.Gateway
	}
	return quiet.Parse(resp.Body, maxStatistics, side)
}
