// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Watcher keeps a table as its file is.
type Watcher struct {
	path  string
	every time.Duration
	apply func(Loaded)
	log   *slog.Logger
	loads *prometheus.CounterVec
}

// WatcherConfig is what a Watcher needs. Every field is needed.
type WatcherConfig struct {
	// Path of the file. It may be replaced, and a link on the way to it may.
	Path string
	// Every is how often the file is looked at, and how long it must have been the same before it is read.
	Every time.Duration
	// Apply gets each table that was read.
	Apply func(Loaded)
	// Metrics counts what was read.
	Metrics prometheus.Registerer
	// Log gets what went wrong.
	Log *slog.Logger
}

// NewWatcher returns a Watcher that has read nothing yet.
func NewWatcher(c WatcherConfig) (*Watcher, error) {
	w := &Watcher{
		path: c.Path, every: c.Every, apply: c.Apply, log: c.Log,
		loads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_dns_table_loads_total",
			Help: "Tables read from the file, by outcome: applied or refused.",
		}, []string{"outcome"}),
	}
	if c.Every <= 0 {
		return nil, fmt.Errorf("the table can not be looked at every %s: give a time above 0", c.Every)
	}
	if err := c.Metrics.Register(w.loads); err != nil {
		return nil, fmt.Errorf("register metrics of the table: %w", err)
	}
	w.loads.WithLabelValues(outcomeRefused)
	return w, nil
}

const (
	outcomeApplied = "applied"
	outcomeRefused = "refused"
)

// Run reads the file, applies it, and goes on doing so until the context ends. Only a first read that fails is an
// error. A value in now has the file read at once.
func (w *Watcher) Run(ctx context.Context, now <-chan os.Signal) error {
	at := w.look()
	if err := w.load(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	read := at
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-now:
			at = w.look()
		case <-tick.C:
			before := at
			if at = w.look(); same(at, read) || !same(at, before) {
				continue // As it was read, or still changing.
			}
		}
		read = at
		if err := w.load(ctx); err != nil {
			w.log.ErrorContext(ctx, "the table file is not usable, the table before it stays in force", "error", err)
		}
	}
}

// load reads the file and applies it.
func (w *Watcher) load(ctx context.Context) error {
	loaded, err := Load(w.path)
	if err != nil {
		w.loads.WithLabelValues(outcomeRefused).Inc()
		return err
	}
	w.loads.WithLabelValues(outcomeApplied).Inc()
	w.apply(loaded)
	w.log.InfoContext(ctx, "table in force", "path", w.path, "serial", loaded.Table.Serial(), "targets", len(loaded.Table.Targets()))
	return nil
}

// look returns what tells one content of the file from another without reading it; nil when it is not there.
func (w *Watcher) look() os.FileInfo {
	info, err := os.Stat(w.path)
	if err != nil {
		return nil
	}
	return info
}

// same says whether two looks were at the same content.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
