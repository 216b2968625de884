// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Ground is a fleet's hub, and what it takes to run weir's hub as a program beside its API server.
type Ground struct {
	API
	// Kubeconfig is a file with the administrator's rights, and Program is weir as it was built.
	Kubeconfig, Program string
	// Command is a command in the network of the API server, and Dial connects from an address there; nil is any.
	Command func(ctx context.Context, argv ...string) *exec.Cmd
	Dial    func(ctx context.Context, from net.IP, network, address string) (net.Conn, error)
}

// Where the program listens, in a network of its own.
const (
	hubAddress     = "127.0.0.1:18443"
	metricsAddress = "127.0.0.1:18080"
	healthAddress  = "127.0.0.1:18081"

	hubNamespace = "weir-system"
)

// program is weir's hub as a process of its own.
type program struct {
	cmd  *exec.Cmd
	http *http.Client
	end  context.CancelFunc
	said bytes.Buffer // by the process; it is read when that has ended
	// ended is closed when the process has ended; cmd's state then says how.
	ended chan struct{}
}

// startProgram starts the hub. What it says is kept for its failure.
func startProgram(ctx context.Context, g Ground) (*program, error) {
	ctx, end := context.WithCancel(ctx)
	p := &program{
		end: end, ended: make(chan struct{}),
		http: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return g.Dial(ctx, nil, network, address)
		}}},
	}
	p.cmd = g.Command(ctx, g.Program, "hub", "--namespace", hubNamespace, "--listen", hubAddress, "--advertise-address", hubAddress,
		"--metrics-address", metricsAddress, "--health-address", healthAddress)
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+g.Kubeconfig, "POD_NAME=bench")
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 10 * time.Second
	if err := p.cmd.Start(); err != nil {
		end()
		return nil, fmt.Errorf("start %s: %w", g.Program, err)
	}
	go func() {
		_ = p.cmd.Wait() // What it returns is in the process's state.
		close(p.ended)
	}()
	return p, nil
}

// stop ends the process. One that had ended by itself before is an error, with what it said last.
func (p *program) stop() error {
	select {
	case <-p.ended:
		p.end()
		lines := strings.Split(strings.TrimSpace(p.said.String()), "\n")
		return fmt.Errorf("the hub ended by itself (%v): %s", p.cmd.ProcessState, strings.Join(lines[max(0, len(lines)-5):], "\n"))
	default:
	}
	p.end()
	<-p.ended
	return nil
}

// metrics reads the hub's metrics by their names.
func (p *program) metrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+metricsAddress+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := p.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read the hub's metrics: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the hub's metrics: %s", answer.Status)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(answer.Body, 64<<20))
	if err != nil {
		return nil, fmt.Errorf("read the hub's metrics: %w", err)
	}
	return families, nil
}

// until waits until what the metrics show is so, or the process has ended.
func (p *program) until(ctx context.Context, what string, so func(map[string]*dto.MetricFamily) bool) (map[string]*dto.MetricFamily, error) {
	ctx, cancel := context.WithTimeout(ctx, roundLimit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		families, err := p.metrics(ctx)
		if err == nil && so(families) {
			return families, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s: %w", what, errors.Join(ctx.Err(), err))
		case <-p.ended:
			return nil, fmt.Errorf("waiting for %s: the hub has ended", what)
		case <-tick.C:
		}
	}
}

// resident is what the process holds of the machine's memory, in MiB.
func (p *program) resident() (float64, error) {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "status"))
	if err != nil {
		return 0, fmt.Errorf("the hub's memory: %w", err)
	}
	_, after, _ := strings.Cut(string(raw), "VmRSS:")
	kib := 0.0
	if _, err := fmt.Sscan(after, &kib); err != nil {
		return 0, fmt.Errorf("the hub's memory: %w", err)
	}
	return kib / 1024, nil
}
