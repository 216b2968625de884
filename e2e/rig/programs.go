// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/weir-io/weir/e2e/rig/image"
)

// Program is a Go program of weir's repository. One that runs in pods is an image with nothing else in it.
type Program struct {
	// Image is the image's name with its tag; empty for a program that runs on no node.
	Image string
	// Module is the folder of the Go module, relative to the repository's root; Package is the package in it.
	Module, Package string
	// Path is where the program is inside the image; it is the entrypoint.
	Path string
	// Tags are build tags, separated by commas; empty means none.
	Tags string
}

var (
	// App is the application and its load generator.
	App = Program{Image: AppImage, Module: "e2e", Package: "./cmd/app", Path: "/app"}
	// Weir is the product.
	Weir = Program{Image: WeirImage, Module: ".", Package: "./cmd/weir", Path: "/weir"}
)

// Load builds a program as it is in the source now and imports its image into all nodes. Pods that run already keep theirs.
func (f *Fleet) Load(ctx context.Context, p Program) error {
	binary, err := f.Build(ctx, p)
	if err != nil {
		return err
	}
	archive := binary + ".tar"
	if err := p.pack(binary, archive); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, c := range f.clusters {
		g.Go(func() error { return c.LoadImage(ctx, archive) })
	}
	return g.Wait()
}

// Build builds a program as it is in the source now, and returns where it is on this machine.
func (f *Fleet) Build(ctx context.Context, p Program) (string, error) {
	dir := filepath.Join(f.RunDir, "programs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("build %s: %w", p.Package, err)
	}
	binary := filepath.Join(dir, filepath.Base(p.Path))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", p.Tags, "-ldflags", "-s -w", "-o", binary, p.Package)
	cmd.Dir = filepath.Join(f.options.Repo, p.Module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", p.Package, err, tail(string(text), 20))
	}
	return binary, nil
}

// pack makes the program's image, as an archive.
func (p Program) pack(binary, archive string) error {
	return image.Image{
		Name: p.Image, Entrypoint: []string{p.Path}, User: "65532:65532", Env: []string{pathInImage},
		Files: []image.File{
			{Path: "/tmp", Folder: true, Mode: 0o1777},
			{Path: "/etc/passwd", Data: []byte("root:x:0:0::/:/bin/false\nnonroot:x:65532:65532::/:/bin/false\n")},
			{Path: p.Path, Source: binary},
		},
	}.Write(archive)
}
