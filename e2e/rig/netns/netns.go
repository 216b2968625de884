// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// dir is where iproute2 keeps the names of namespaces.
const dir = "/run/netns"

// Space is a named network namespace. The zero Space is not usable; a Space may be used by many goroutines.
type Space struct {
	// Name is the namespace's name as "ip netns" lists it, or for messages only.
	Name string

	file string // stands for the namespace when it has no name
}

// OfProcess is the namespace that a process is in, for as long as the process lives. It has no name, so it can be entered
// but not deleted.
func OfProcess(pid int) Space {
	return Space{Name: fmt.Sprintf("of process %d", pid), file: fmt.Sprintf("/proc/%d/ns/net", pid)}
}

// Create makes the namespace and turns its loopback device on. It fails when the name is taken.
func Create(ctx context.Context, name string) (Space, error) {
	s := Space{Name: name}
	if err := tool(ctx, nil, "ip", "netns", "add", name); err != nil {
		return s, fmt.Errorf("make namespace %q: %w", name, err)
	}
	return s, s.IP(ctx, "link set lo up")
}

// List returns the namespaces whose name starts with the prefix.
func List(prefix string) ([]Space, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	var out []Space
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			out = append(out, Space{Name: e.Name()})
		}
	}
	return out, nil
}

// Delete removes the name. The namespace itself goes when its last process has gone. A name that is not there is no error.
func (s Space) Delete(ctx context.Context) error {
	if s.file != "" || !s.Exists() {
		return nil
	}
	if err := tool(ctx, nil, "ip", "netns", "delete", s.Name); err != nil {
		return fmt.Errorf("remove namespace %q: %w", s.Name, err)
	}
	return nil
}

// Exists says whether the namespace has a name here.
func (s Space) Exists() bool {
	_, err := os.Stat(s.Path())
	return err == nil
}

// Path is the file that stands for the namespace; nsenter and setns take it.
func (s Space) Path() string {
	if s.file != "" {
		return s.file
	}
	return filepath.Join(dir, s.Name)
}

// ID is the kernel's number of the namespace, the same that /proc/PID/ns/net shows; 0 when it is not there.
func (s Space) ID() uint64 {
	info, err := os.Stat(s.Path())
	if err != nil {
		return 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return stat.Ino
}

// IP runs commands of iproute2's "ip" inside the namespace, in order, and stops at the first that fails.
func (s Space) IP(ctx context.Context, commands ...string) error {
	in := strings.NewReader(strings.Join(commands, "\n") + "\n")
	if err := tool(ctx, in, "nsenter", "--net="+s.Path(), "--", "ip", "-batch", "-"); err != nil {
		return fmt.Errorf("namespace %q: %w", s.Name, err)
	}
	return nil
}

// NFT gives a script to nftables inside the namespace. All of it takes effect, or nothing.
func (s Space) NFT(ctx context.Context, script string) error {
	argv := s.Wrap("nft", "-f", "-")
	if err := tool(ctx, strings.NewReader(script), argv[0], argv[1:]...); err != nil {
		return fmt.Errorf("namespace %q: %w", s.Name, err)
	}
	return nil
}

// Sysctl sets kernel settings of the namespace's network, each as "net.ipv4.ip_forward=1".
func (s Space) Sysctl(ctx context.Context, settings ...string) error {
	argv := s.Wrap(append([]string{"sysctl", "-q", "-w"}, settings...)...)
	if err := tool(ctx, nil, argv[0], argv[1:]...); err != nil {
		return fmt.Errorf("namespace %q: %w", s.Name, err)
	}
	return nil
}

// Wrap puts before a command what makes it run inside the namespace. Only the network is changed: "ip netns exec" would
// mount a new /sys as well and so hide the control groups that container runtimes need.
func (s Space) Wrap(argv ...string) []string {
	return append([]string{"nsenter", "--net=" + s.Path(), "--"}, argv...)
}

// Command is [exec.CommandContext] inside the namespace.
func (s Space) Command(ctx context.Context, argv ...string) *exec.Cmd {
	w := s.Wrap(argv...)
	return exec.CommandContext(ctx, w[0], w[1:]...)
}

// tool runs a program and returns what it said on standard error when it fails.
func tool(ctx context.Context, in *strings.Reader, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	if in != nil {
		cmd.Stdin = in
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(out.String()))
	}
	return nil
}
