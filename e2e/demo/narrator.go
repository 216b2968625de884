// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// narrator tells what goes on, each line with the time since the start. It is
// safe for concurrent use.
type narrator struct {
	mu    sync.Mutex
	out   io.Writer
	begin time.Time
}

func newNarrator(out io.Writer) *narrator { return &narrator{out: out, begin: time.Now()} }

// say writes one line.
func (n *narrator) say(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fmt.Fprintf(n.out, "%6.1fs  %s\n", time.Since(n.begin).Seconds(), fmt.Sprintf(format, args...))
}

// table writes the live table.
func (n *narrator) table(rows []row) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return writeTable(n.out, rows)
}

// last writes the verdict, alone on its line.
func (n *narrator) last(verdict string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fmt.Fprintln(n.out, verdict)
}
