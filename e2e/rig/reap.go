// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/weir-io/weir/e2e/rig/netns"
	"github.com/weir-io/weir/e2e/rig/process"
)

// Reap ends whatever a fleet in this run directory left on the machine, however it ended: recorded processes, everything that
// runs in the rig's namespaces or below its container runtimes, the namespaces, and the control groups of its containers.
// The files stay. Reaping nothing is no error.
func Reap(ctx context.Context, runDir string) error {
	table := process.Table{Dir: filepath.Join(runDir, "processes")}
	recorded, err := table.List("")
	if err != nil {
		return err
	}
	spaces, err := netns.List(prefix)
	if err != nil {
		return err
	}
	nets := make(map[uint64]bool)
	for _, s := range spaces {
		nets[s.ID()] = true
	}
	if err := killAll(ctx, ownedBy(recorded, nets)); err != nil {
		return err
	}
	for _, s := range spaces {
		if err := s.Delete(ctx); err != nil {
			return err
		}
	}
	for _, p := range recorded {
		if err := table.End(ctx, p.Name, 0); err != nil {
			return err
		}
	}
	// The group above the containers' may be another runtime's too; the kernel removes it only when it is empty.
	for _, g := range containerGroups("0::/k8s.io/x\n" + selfGroups()) {
		_ = syscall.Rmdir(filepath.Dir(g))
	}
	return nil
}

// selfGroups names a container's group in each hierarchy of control groups that the machine has.
func selfGroups() string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		if f := strings.SplitN(line, ":", 3); len(f) == 3 {
			fmt.Fprintf(&out, "%s:%s:/k8s.io/x\n", f[0], f[1])
		}
	}
	return out.String()
}

// ownedBy returns a function that finds the processes of the rig: the recorded ones, those in the given network namespaces,
// those in the mount namespace of a recorded one that is not the machine's, and all that descend from these.
func ownedBy(recorded []process.Process, nets map[uint64]bool) func() ([]process.Info, error) {
	mounts := make(map[uint64]bool)
	for _, p := range recorded {
		if p.Running() {
			mounts[process.MountNamespace(p.PID)] = true
		}
	}
	delete(mounts, process.MountNamespace(os.Getpid()))
	delete(mounts, process.MountNamespace(1))
	delete(mounts, 0)
	delete(nets, 0)
	return func() ([]process.Info, error) {
		all, err := process.Snapshot()
		if err != nil {
			return nil, err
		}
		roots := make(map[int]bool)
		for _, p := range recorded {
			if p.Running() {
				roots[p.PID] = true
			}
		}
		for _, i := range all {
			if nets[i.Net] || mounts[i.Mount] {
				roots[i.PID] = true
			}
		}
		out := process.Descendants(all, roots)
		known := make(map[int]bool)
		for _, i := range out {
			known[i.PID] = true
		}
		for _, i := range all {
			if roots[i.PID] && !known[i.PID] {
				out = append(out, i)
			}
		}
		return out, nil
	}
}

// killAll kills what find returns until nothing is left, and removes the control groups of the containers among it.
func killAll(parent context.Context, find func() ([]process.Info, error)) error {
	ctx, cancel := context.WithTimeout(parent, 30*time.Second)
	defer cancel()
	groups := make(map[string]bool)
	for {
		found, err := find()
		if err != nil {
			return err
		}
		living := 0
		for _, i := range found {
			for _, g := range containerGroups(i.Cgroup) {
				groups[g] = true
			}
			if i.State == 'Z' || i.PID == os.Getpid() {
				continue
			}
			living++
			if err := i.Signal(syscall.SIGKILL); err != nil {
				return err
			}
		}
		if living == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d processes of the rig do not end: %w", living, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
	return removeGroups(parent, groups)
}

// containerGroups returns the folders of a container's control groups from the text of /proc/PID/cgroup.
func containerGroups(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		f := strings.SplitN(line, ":", 3)
		if len(f) != 3 || !strings.HasPrefix(f[2], "/k8s.io/") {
			continue
		}
		controller := strings.TrimPrefix(f[1], "name=")
		if controller == "" {
			for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
				out = append(out, filepath.Join(root, f[2]))
			}
			continue
		}
		out = append(out, filepath.Join("/sys/fs/cgroup", controller, f[2]))
	}
	return out
}

// removeGroups removes control groups, the deepest first. The kernel keeps a group busy until the last of its processes has
// been waited for by its parent, so each is tried for a while; one that stays busy is left.
func removeGroups(ctx context.Context, groups map[string]bool) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	paths := make([]string, 0, len(groups))
	for g := range groups {
		paths = append(paths, g)
	}
	slices.Sort(paths)
	for _, g := range slices.Backward(paths) {
		for {
			err := syscall.Rmdir(g)
			if err == nil || errors.Is(err, syscall.ENOENT) {
				break
			}
			if !errors.Is(err, syscall.EBUSY) {
				return fmt.Errorf("remove control group %s: %w", g, err)
			}
			select {
			case <-time.After(10 * time.Millisecond):
				continue
			case <-ctx.Done():
			}
			break
		}
	}
	return nil
}
