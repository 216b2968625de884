// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// poll is how often a wait looks again. A look costs one read of a file in /proc.
const poll = 20 * time.Millisecond

// ErrUnknown says that no program of that name is recorded.
var ErrUnknown = errors.New("not recorded")

// Table is a directory of running programs. It may be used by many goroutines; each name has one writer at a time.
type Table struct {
	// Dir holds the records. It is made when the first program starts.
	Dir string
}

// Spec says what to start.
type Spec struct {
	// Name is the program's name in the table, such as "c1-kubelet". No two running programs share one.
	Name string
	// Args is the program and its arguments.
	Args []string
	// Env is added to a small fixed environment (PATH, HOME).
	Env []string
	// Dir is the working directory; empty means the table's.
	Dir string
	// Log is the file that standard output and error are appended to.
	Log string
	// NetNS is the file of the network namespace to run in; empty means the caller's.
	NetNS string
	// MountNS is the process whose mount namespace to run in; 0 means the caller's.
	MountNS int
}

// Process is a recorded program.
type Process struct {
	Name  string   `json:"name"`
	PID   int      `json:"pid"`
	Start uint64   `json:"start"` // clock ticks since the machine's boot, field 22 of /proc/PID/stat
	Args  []string `json:"args"`
	Log   string   `json:"log"`
}

// Start starts the program in a session of its own and records it.
func (t Table) Start(s Spec) (Process, error) {
	if p, err := t.Lookup(s.Name); err == nil && p.Running() {
		return p, fmt.Errorf("start %s: it runs already as process %d", s.Name, p.PID)
	}
	if err := os.MkdirAll(t.Dir, 0o755); err != nil {
		return Process{}, fmt.Errorf("start %s: %w", s.Name, err)
	}
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return Process{}, fmt.Errorf("start %s: %w", s.Name, err)
	}
	defer log.Close()
	argv := wrap(s)
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // The program outlives any context of its starter.
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = s.Dir
	if cmd.Dir == "" {
		cmd.Dir = t.Dir
	}
	cmd.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}, s.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return Process{}, fmt.Errorf("start %s: %w", s.Name, err)
	}
	p := Process{Name: s.Name, PID: cmd.Process.Pid, Args: s.Args, Log: s.Log}
	p.Start, _ = startTime(p.PID)
	// The child must be waited for, or it stays a zombie for as long as its starter lives.
	go func() { _ = cmd.Wait() }()
	if err := t.write(p); err != nil {
		_ = cmd.Process.Kill()
		return Process{}, fmt.Errorf("record %s: %w", s.Name, err)
	}
	return p, nil
}

func wrap(s Spec) []string {
	if s.NetNS == "" && s.MountNS == 0 {
		return s.Args
	}
	w := []string{"nsenter"}
	if s.NetNS != "" {
		w = append(w, "--net="+s.NetNS)
	}
	if s.MountNS != 0 {
		w = append(w, fmt.Sprintf("--mount=/proc/%d/ns/mnt", s.MountNS))
	}
	return append(append(w, "--"), s.Args...)
}

func (t Table) path(name string) string { return filepath.Join(t.Dir, name+".json") }

func (t Table) write(p Process) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	tmp := t.path(p.Name) + ".tmp"
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, t.path(p.Name))
}

// Lookup returns the record of a name, whether or not its process still runs. An unknown name is [ErrUnknown].
func (t Table) Lookup(name string) (Process, error) {
	var p Process
	data, err := os.ReadFile(t.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("process %q: %w", name, ErrUnknown)
	}
	if err != nil {
		return p, fmt.Errorf("process %q: %w", name, err)
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("process %q: %w", name, err)
	}
	return p, nil
}

// List returns the records whose name starts with the prefix, in the order of their names.
func (t Table) List(prefix string) ([]Process, error) {
	entries, err := os.ReadDir(t.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var out []Process
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !strings.HasPrefix(name, prefix) {
			continue
		}
		p, err := t.Lookup(name)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// Signal sends a signal to a recorded program. It fails when the program does not run.
func (t Table) Signal(name string, sig syscall.Signal) error {
	p, err := t.Lookup(name)
	if err != nil {
		return err
	}
	if !p.Running() {
		return fmt.Errorf("process %q: it does not run; see %s", name, p.Log)
	}
	return syscall.Kill(p.PID, sig)
}

// End ends a recorded program with SIGTERM, after grace with SIGKILL, waits until it is gone and forgets it. A grace of
// zero kills at once. A program that is gone or unknown is no error.
func (t Table) End(ctx context.Context, name string, grace time.Duration) error {
	p, err := t.Lookup(name)
	if errors.Is(err, ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	if grace > 0 && p.Running() {
		_ = syscall.Kill(p.PID, syscall.SIGTERM)
		_ = syscall.Kill(p.PID, syscall.SIGCONT)
		short, cancel := context.WithTimeout(ctx, grace)
		_ = p.waitGone(short)
		cancel()
	}
	if p.Running() {
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
		if err := p.waitGone(ctx); err != nil {
			return fmt.Errorf("process %q (%d) does not end: %w", name, p.PID, err)
		}
	}
	if err := os.Remove(t.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget process %q: %w", name, err)
	}
	return nil
}

func (p Process) waitGone(ctx context.Context) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for p.Running() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// Running says whether the recorded process is still the one that was started, and no zombie.
func (p Process) Running() bool {
	start, state := startTime(p.PID)
	return start != 0 && start == p.Start && state != 'Z' && state != 'X'
}
