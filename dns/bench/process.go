// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/miekg/dns"
)

// process is a server under test.
type process struct {
	title   string
	address string
	cmd     *exec.Cmd
	pid     int
	stderr  bytes.Buffer
}

// start runs a program on one core and waits until it answers.
func start(ctx context.Context, title, address, program string, args ...string) (*process, error) {
	p := &process{title: title, address: address, cmd: exec.CommandContext(ctx, program, args...)}
	p.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	p.cmd.Stderr = &p.stderr
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 5 * time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", title, err)
	}
	p.pid = p.cmd.Process.Pid
	m := new(dns.Msg)
	m.SetQuestion(nameOf(0), dns.TypeA)
	client := dns.Client{Timeout: 100 * time.Millisecond}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline) && ctx.Err() == nil; {
		if a, _, err := client.ExchangeContext(ctx, m, address); err == nil && len(a.Answer) == 1 {
			return p, nil
		}
		pause := time.NewTimer(50 * time.Millisecond)
		<-pause.C
	}
	p.stop()
	return nil, fmt.Errorf("%s does not answer on %s: %s", title, address, p.stderr.String())
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
}

// used is CPU time, and the time that was waited for it.
type used struct{ all, user, waited time.Duration }

// cpu is what all threads of the process have used, to the nanosecond, and the part of it that was not the kernel's.
func (p *process) cpu() (used, error) {
	dir := filepath.Join("/proc", strconv.Itoa(p.pid))
	threads, err := filepath.Glob(filepath.Join(dir, "task", "*", "schedstat"))
	if err != nil || len(threads) == 0 {
		return used{}, fmt.Errorf("%s is gone: %s", p.title, p.stderr.String())
	}
	var out used
	for _, path := range threads {
		raw, err := os.ReadFile(path)       //nolint:gosec // A file of /proc.
		if errors.Is(err, os.ErrNotExist) { // A thread that ended meanwhile.
			continue
		}
		if err != nil {
			return used{}, err
		}
		var ran, queued int64
		if _, err := fmt.Sscan(string(raw), &ran, &queued); err != nil {
			return used{}, fmt.Errorf("read %s: %w", path, err)
		}
		out.all += time.Duration(ran)
		out.waited += time.Duration(queued)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "stat")) //nolint:gosec // Likewise.
	if err != nil {
		return used{}, err
	}
	user, system, err := ticks(string(raw))
	if err == nil && user+system > 0 {
		out.user = time.Duration(float64(out.all) * user / (user + system))
	}
	return out, err
}

// ticks reads user and system time from /proc/PID/stat; the name before them may hold anything.
func ticks(stat string) (user, system float64, err error) {
	_, after, ok := strings.Cut(stat[strings.LastIndex(stat, ")")+1:], " ")
	fields := strings.Fields(after)
	if !ok || len(fields) < 13 {
		return 0, 0, fmt.Errorf("not the form of /proc/PID/stat: %q", stat)
	}
	if user, err = strconv.ParseFloat(fields[11], 64); err != nil {
		return 0, 0, fmt.Errorf("read user time: %w", err)
	}
	if system, err = strconv.ParseFloat(fields[12], 64); err != nil {
		return 0, 0, fmt.Errorf("read system time: %w", err)
	}
	return user, system, nil
}

// freeAddress finds a port on loopback that nothing listens on.
func freeAddress(ctx context.Context) (string, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}
