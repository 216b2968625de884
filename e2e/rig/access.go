// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// writeAccess writes what a person needs to look at the fleet: one kubeconfig with a context for each cluster, and a script
// "kubectl" that runs kubectl with it outside of the clusters.
func (f *Fleet) writeAccess() error {
	var all []access
	for _, c := range f.clusters {
		text, err := os.ReadFile(c.file("tokens.csv"))
		if err != nil {
			return fmt.Errorf("cluster %q: %w", c.Name, err)
		}
		fields, err := csv.NewReader(strings.NewReader(string(text))).Read()
		if err != nil {
			return fmt.Errorf("cluster %q: tokens.csv: %w", c.Name, err)
		}
		all = append(all, access{name: c.Name, server: c.Server(), ca: f.ca, token: fields[0]})
	}
	if err := os.WriteFile(f.Kubeconfig(), []byte(kubeconfigOf(all)), 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	script := fmt.Sprintf("#!/bin/sh\n# kubectl for the rig's clusters; choose one with --context (hub, c1, c2 ...).\nexec nsenter --net=%s -- %s --kubeconfig %s \"$@\"\n",
		outside.Path(), filepath.Join(f.bin, "kubectl"), f.Kubeconfig())
	if err := os.WriteFile(filepath.Join(f.RunDir, "kubectl"), []byte(script), 0o755); err != nil {
		return fmt.Errorf("write kubectl script: %w", err)
	}
	return nil
}

// Kubeconfig is a file with a context for each cluster, named after it. It works outside: see [Fleet.Outside].
func (f *Fleet) Kubeconfig() string { return filepath.Join(f.RunDir, "kubeconfig") }
