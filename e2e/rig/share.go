// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// podGroup is the control group below which every node's containerd puts its containers.
const podGroup = "k8s.io"

// What the pods of all nodes weigh together: as much as 64 threads, or groups, that run beside them.
const (
	podShares = "65536" // control groups of version 1, where 1024 is one
	podWeight = "6400"  // control groups of version 2, where 100 is one
)

// favourPods gives the containers of all nodes together as much of the processors as they ask for; root is where control
// groups are mounted. All of them sit below one group that weighs as little as one thread of a compiler beside it. A proxy
// that stands in line behind those times out, and that looks like a lost request.
func favourPods(root string) error {
	file, value := filepath.Join(root, "cpu", podGroup, "cpu.shares"), podShares
	if _, err := os.Stat(filepath.Join(root, "cpu")); errors.Is(err, fs.ErrNotExist) {
		file, value = filepath.Join(root, podGroup, "cpu.weight"), podWeight
		if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+cpu"), 0o644); err != nil {
			return fmt.Errorf("hand processors on to control groups: %w", err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make the pods' control group: %w", err)
	}
	if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
		return fmt.Errorf("favour the pods: %w", err)
	}
	return nil
}
