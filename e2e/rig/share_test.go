// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPodsAreFavouredInBothVersionsOfControlGroups(t *testing.T) {
	for name, c := range map[string]struct{ folder, file, want string }{
		"version 1": {"cpu", "cpu/k8s.io/cpu.shares", podShares},
		"version 2": {"", "k8s.io/cpu.weight", podWeight},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.MkdirAll(filepath.Join(root, c.folder), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := favourPods(root); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(root, c.file))
			if err != nil || string(got) != c.want {
				t.Errorf("%s holds %q, %v; want %q", c.file, got, err, c.want)
			}
		})
	}
}
