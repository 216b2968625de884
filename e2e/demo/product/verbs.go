// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package product

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/weir-io/weir/api/v1alpha1"
)

// Drain runs kubectl weir drain and returns when the cluster may be powered
// off. Each line that the program tells on the way goes to say. Flags are the
// program's.
func (p *Product) Drain(ctx context.Context, cluster string, say func(string), flags ...string) error {
	return p.told(ctx, say, append([]string{"drain", cluster}, flags...)...)
}

// BeginDrain asks for a drain and does not wait for it.
func (p *Product) BeginDrain(ctx context.Context, cluster string, flags ...string) error {
	_, err := p.run(ctx, append([]string{"drain", cluster, "--wait=false"}, flags...)...)
	return err
}

// Undrain runs kubectl weir undrain and returns when traffic is back. In the
// middle of a drain it aborts it.
func (p *Product) Undrain(ctx context.Context, cluster string, say func(string)) error {
	return p.told(ctx, say, "undrain", cluster)
}

// BeginUndrain asks for traffic to return and does not wait for it. The
// ClusterDrain stays until it is deleted or drains again.
func (p *Product) BeginUndrain(ctx context.Context, cluster string) error {
	_, err := p.run(ctx, "undrain", cluster, "--wait=false")
	return err
}

// Status gives what kubectl weir status prints.
func (p *Product) Status(ctx context.Context) (string, error) { return p.run(ctx, "status") }

// Check gives what kubectl weir check prints, also where it found something that
// stops weir.
func (p *Product) Check(ctx context.Context) (string, error) {
	out, err := p.run(ctx, "check")
	if out != "" {
		return out, nil // What was found is an answer.
	}
	return out, err
}

// told runs kubectl weir and passes on what it tells while it waits.
func (p *Product) told(ctx context.Context, say func(string), args ...string) error {
	cmd := p.command(ctx, args...)
	// Both outputs end in one pipe, so that lines keep their order.
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	passed := make(chan string, 1)
	go func() {
		last := ""
		for lines := bufio.NewScanner(r); lines.Scan(); {
			if last = strings.TrimSpace(lines.Text()); last != "" {
				say(last)
			}
		}
		// A line too long for the scanner must not block the program.
		_, _ = io.Copy(io.Discard, r)
		passed <- last
	}()
	err := cmd.Run()
	_ = w.Close()
	last := <-passed
	if err != nil {
		return fmt.Errorf("kubectl weir %s: %w: %s", strings.Join(args, " "), err, last)
	}
	return nil
}

// TakeOver takes a member from another hub that it belongs to.
func (p *Product) TakeOver(ctx context.Context, cluster string) error {
	_, err := p.run(ctx, "join", cluster, "--member-context", cluster, "--values", filepath.Join(p.fleet.RunDir, cluster+"-values.yaml"), "--take-over")
	return err
}

// ClusterOf reads a member's Cluster.
func (p *Product) ClusterOf(ctx context.Context, name string) (v1alpha1.Cluster, error) {
	var c v1alpha1.Cluster
	return c, p.read(ctx, "clusters", "", name, &c)
}
