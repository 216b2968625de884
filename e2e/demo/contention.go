// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weir-io/weir/e2e/load"
)

// The clients' lateness shows that the machine was too busy for them; a proxy
// can starve while they do not, since it needs far more of a processor than a
// client that wakes up to send. So the demo also measures how long the proxies'
// workers stood in line for a processor, which the kernel counts.

// starvedWait is the share of a span in which a proxy that had work waited for
// a processor, past which its time-outs are the machine's and not the mesh's.
const starvedWait = 0.5

// waitSpan is the length of the spans that are looked at. A shorter one would
// judge the start of a program, a longer one hide what times requests out.
const waitSpan = 10 * time.Second

// workerPrefix begins the name of each thread of Envoy that serves requests.
const workerPrefix = "wrk:worker"

// contention keeps, for each span that was looked at, the greatest share of it
// that a proxy waited. It is safe for concurrent use.
type contention struct {
	mu     sync.Mutex
	spans  []load.Span
	shares []float64
}

func (c *contention) note(span load.Span, share float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spans, c.shares = append(c.spans, span), append(c.shares, share)
}

// worst gives the greatest share of all spans that touch the given one.
func (c *contention) worst(in load.Span) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	worst := 0.0
	for i, s := range c.spans {
		if s.From <= in.To && s.To >= in.From {
			worst = max(worst, c.shares[i])
		}
	}
	return worst
}

// waits is the time that each worker thread has ever waited for a processor.
type waits map[string]time.Duration

// readWaits reads the waits of all Envoy workers from a proc file system.
// Threads that end meanwhile are left out. None at all gives an empty result.
func readWaits(proc fs.FS) (waits, error) {
	processes, err := fs.ReadDir(proc, ".")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	w := waits{}
	for _, p := range processes {
		if _, err := strconv.Atoi(p.Name()); err != nil || !named(proc, p.Name(), "envoy") {
			continue
		}
		threads, err := fs.ReadDir(proc, path.Join(p.Name(), "task"))
		if err != nil {
			continue
		}
		for _, t := range threads {
			dir := path.Join(p.Name(), "task", t.Name())
			if !named(proc, dir, workerPrefix) {
				continue
			}
			if wait, ok := readWait(proc, dir); ok {
				w[dir] = wait
			}
		}
	}
	return w, nil
}

// named reports whether the name of a process or thread begins with prefix.
func named(proc fs.FS, dir, prefix string) bool {
	name, err := fs.ReadFile(proc, path.Join(dir, "comm"))
	return err == nil && strings.HasPrefix(string(name), prefix)
}

// readWait reads the second field of schedstat: nanoseconds in line.
func readWait(proc fs.FS, dir string) (time.Duration, bool) {
	text, err := fs.ReadFile(proc, path.Join(dir, "schedstat"))
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, false
	}
	ns, err := strconv.ParseInt(fields[1], 10, 64)
	return time.Duration(ns), err == nil
}

// contend adds what proxies waited to the result, and says that they starved.
func (r *Result) contend(share float64) {
	r.ProxyWait = share
	r.Starved = append(r.Starved, starvedProxies(share)...)
}

// starvedProxies names the proxies as starved where the share says so.
func starvedProxies(share float64) []string {
	if share <= starvedWait {
		return nil
	}
	return []string{fmt.Sprintf("a proxy (it waited %.0f %% of %s for a processor)", 100*share, waitSpan)}
}

// worst gives the greatest share of the span that any worker waited which was
// there at both its ends.
func (w waits) worst(before waits, span time.Duration) float64 {
	share := 0.0
	for thread, now := range w {
		if then, ok := before[thread]; ok {
			share = max(share, float64(now-then)/float64(span))
		}
	}
	return share
}
