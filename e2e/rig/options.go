// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Topology says how the members' pods reach each other.
type Topology string

const (
	// Flat is one network: each pod reaches each pod of every member.
	Flat Topology = "flat"
	// Gateways is a network for each member: pods reach other members through east-west gateways only.
	Gateways Topology = "gateways"
)

// Hub is the name of the cluster in which weir's hub runs. Members are called c1, c2 and so on.
const Hub = "hub"

// Options says what fleet to start. The zero value is three members on one network in the usual folders.
type Options struct {
	// Topology is [Flat] when empty.
	Topology Topology
	// Members is the number of member clusters, 1 to 9; zero means 3.
	Members int
	// RunDir holds what the running fleet needs and writes: keys, logs, disks of the nodes. Empty means weir-rig/run in
	// the cache folder. It must not lie under /var or /run, which the nodes see differently.
	RunDir string
	// CacheDir holds what is built once per version. Empty means weir-rig in the user's cache folder.
	CacheDir string
	// Repo is the root of weir's source. Empty means it is looked for upwards from the working directory.
	Repo string
	// Progress is told in one line each what goes on; nil means silence. It may be called from many goroutines.
	Progress func(line string)
}

func (o Options) withDefaults() (Options, error) {
	if o.Topology == "" {
		o.Topology = Flat
	}
	if o.Topology != Flat && o.Topology != Gateways {
		return o, fmt.Errorf("topology %q: want %q or %q", o.Topology, Flat, Gateways)
	}
	if o.Members == 0 {
		o.Members = 3
	}
	if o.Members < 1 || o.Members > 9 {
		return o, fmt.Errorf("%d members: want 1 to 9", o.Members)
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if err := o.placeFolders(); err != nil {
		return o, err
	}
	if o.Repo == "" {
		var err error
		if o.Repo, err = findRepo(); err != nil {
			return o, err
		}
	}
	return o, nil
}

// placeFolders makes the folders' paths absolute and refuses those that nodes would not see.
func (o *Options) placeFolders() error {
	if o.CacheDir == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("find the cache folder (set HOME or XDG_CACHE_HOME): %w", err)
		}
		o.CacheDir = filepath.Join(dir, "weir-rig")
	}
	if o.RunDir == "" {
		o.RunDir = filepath.Join(o.CacheDir, "run")
	}
	for _, dir := range []*string{&o.CacheDir, &o.RunDir} {
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return fmt.Errorf("folder %s: %w", *dir, err)
		}
		*dir = abs
		for _, hidden := range []string{"/var/", "/run/", "/proc/", "/sys/", "/dev/"} {
			if strings.HasPrefix(abs+"/", hidden) {
				return fmt.Errorf("folder %s: choose one outside %s, for the nodes have their own", abs, hidden)
			}
		}
	}
	return nil
}

// findRepo walks up from the working directory to the folder that holds e2e/controlplane.
func findRepo() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find weir's source: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "e2e", "controlplane", "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("find weir's source: run this inside weir's repository")
		}
		dir = up
	}
}
