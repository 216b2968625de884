// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/weir-io/weir/e2e/load/generator"
)

// exitStarved is the load program's code for a machine that was too busy.
const exitStarved = 3

// Limits of waits for clients. One that was told to end waits for what is in
// flight, ten seconds at most.
const (
	firstLimit = 30 * time.Second
	endLimit   = 30 * time.Second
	lookEvery  = 200 * time.Millisecond
)

// outsider is a client that belongs to no cluster: a process of this machine.
type outsider struct {
	name  string
	stop  context.CancelFunc
	ended chan error
}

// startClients starts all clients, tells them to begin at the same time, and
// waits until each has been answered.
func (s *stage) startClients(ctx context.Context) error {
	rate := s.options.Rate / float64(len(s.places))
	for i, p := range s.places {
		seed := s.options.Seed*100 + uint64(i)
		start := s.startInMesh
		if p.Outside {
			start = s.startOutside
		}
		if err := start(ctx, p, rate, seed); err != nil {
			return err
		}
	}
	for _, p := range s.places {
		if err := generator.Start(p.Control); err != nil {
			return err
		}
	}
	for _, p := range s.places {
		err := poll(ctx, firstLimit, func() (bool, error) {
			live, err := readLive(p)
			return live.OK > 0, err
		})
		if err != nil {
			return fmt.Errorf("client %s has had no answer: %w", p.Client, err)
		}
	}
	return nil
}

// startInMesh deploys a client and waits until it is ready.
func (s *stage) startInMesh(ctx context.Context, p place, rate float64, seed uint64) error {
	c, err := s.fleet.Cluster(p.Cluster)
	if err != nil {
		return err
	}
	text, err := render("client", client{Cluster: c.Name, Services: s.services(), Rate: rate, Seed: seed, OutDir: p.Out, ControlDir: p.Control})
	if err != nil {
		return err
	}
	if err := c.Apply(ctx, text); err != nil {
		return err
	}
	return c.WaitDeployment(ctx, namespace, clientName, readyLimit)
}

// startOutside starts a client that enters through a cluster's ingress gateway.
func (s *stage) startOutside(ctx context.Context, p place, rate float64, seed uint64) error {
	c, err := s.fleet.Cluster(p.Cluster)
	if err != nil {
		return err
	}
	for _, dir := range []string{p.Out, p.Control} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("client %s: %w", p.Client, err)
		}
	}
	ctx, stop := context.WithCancel(ctx)
	args := []string{filepath.Join(s.fleet.RunDir, "programs", "app"), "load", "--client=" + p.Client}
	for _, service := range s.services() {
		args = append(args, "--target=http://"+c.IngressIP()+":80", "--host="+hostOf(service))
	}
	cmd := s.fleet.Outside(ctx, append(
		args, "--rate="+strconv.FormatFloat(rate, 'f', -1, 64), "--seed="+strconv.FormatUint(seed, 10),
		"--out="+p.Out, "--control="+p.Control,
	)...)
	var text bytes.Buffer
	cmd.Stderr = &text
	if err := cmd.Start(); err != nil {
		stop()
		return fmt.Errorf("client %s: %w", p.Client, err)
	}
	o := &outsider{name: p.Client, stop: stop, ended: make(chan error, 1)}
	go func() {
		err := cmd.Wait()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == exitStarved {
			err = nil // The account finds it starved by its records.
		}
		if err != nil {
			err = fmt.Errorf("client %s: %w: %s", o.name, err, bytes.TrimSpace(text.Bytes()))
		}
		o.ended <- err
	}()
	s.outside = append(s.outside, o)
	return nil
}

// stopClients tells all clients to send no more and waits for their reports.
func (s *stage) stopClients(ctx context.Context) error {
	var all []error
	for _, p := range s.places {
		all = append(all, generator.Stop(p.Control))
	}
	for _, p := range s.places {
		err := poll(ctx, endLimit, func() (bool, error) {
			reports, err := filepath.Glob(filepath.Join(p.Out, "*."+generator.ReportExt))
			return len(reports) > 0, err
		})
		if err != nil {
			all = append(all, fmt.Errorf("client %s did not end: %w", p.Client, err))
		}
	}
	return errors.Join(append(all, s.endOutside())...)
}

// endOutside ends the clients of this machine that still run, and gives their
// errors. It may be called again.
func (s *stage) endOutside() error {
	var all []error
	for _, o := range s.outside {
		select {
		case err := <-o.ended:
			all = append(all, err)
		case <-time.After(endLimit):
			o.stop()
			all = append(all, fmt.Errorf("client %s did not end and was stopped", o.name), <-o.ended)
		}
		o.stop()
	}
	s.outside = nil
	return errors.Join(all...)
}

// readLive reads a client's live numbers; zeros when there are none yet.
func readLive(p place) (generator.Live, error) {
	var live generator.Live
	content, err := os.ReadFile(filepath.Join(p.Out, generator.LiveFile))
	if errors.Is(err, os.ErrNotExist) {
		return live, nil
	}
	if err != nil {
		return live, fmt.Errorf("client %s: %w", p.Client, err)
	}
	if err := json.Unmarshal(content, &live); err != nil {
		return live, fmt.Errorf("client %s: live numbers: %w", p.Client, err)
	}
	return live, nil
}

// poll asks until it is so, it fails, or the limit has passed.
func poll(ctx context.Context, limit time.Duration, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if ok, err := so(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
