// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/weir-io/weir/e2e/load"
)

// The files of a control directory.
const (
	startFile  = "start"
	stopFile   = "stop"
	markPrefix = "mark-"
)

// look is how often the control directory is read.
const look = 200 * time.Millisecond

// Start tells the generator of a control directory to begin.
func Start(dir string) error { return touch(dir, startFile, "") }

// Stop tells the generator of a control directory to send no more.
func Stop(dir string) error { return touch(dir, stopFile, "") }

// SetMark sets a mark in a control directory. The time stands in the file, so
// that all clients cut their runs at the same moment.
func SetMark(dir, name string, at time.Time) error {
	return touch(dir, markPrefix+name, strconv.FormatInt(at.UnixNano(), 10))
}

func touch(dir, name, content string) error {
	if strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("control file %q: no slash may stand in the name", name)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	// Written apart and renamed, so that no mark is read before its time is in.
	tmp := filepath.Join(dir, "."+name)
	if err := os.WriteFile(tmp, []byte(content), 0o644); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, name)); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	return nil
}

// exists reports whether a control file is there. No directory has no files.
func exists(dir, name string) (bool, error) {
	if dir == "" {
		return false, nil
	}
	_, err := os.Stat(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("control: %w", err)
	}
	return true, nil
}

// awaitStart returns when there is a start or a stop file, or with the error of
// ctx when that ends first.
func awaitStart(ctx context.Context, dir string) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		for _, name := range []string{startFile, stopFile} {
			if there, err := exists(dir, name); there || err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// awaitStop returns when there is a stop file, or ctx ends.
func awaitStop(ctx context.Context, dir string) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		if there, err := exists(dir, stopFile); there || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// marks reads all marks of a control directory.
func marks(dir string) ([]load.Mark, error) {
	if dir == "" {
		return nil, nil
	}
	paths, err := filepath.Glob(filepath.Join(dir, markPrefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	var all []load.Mark
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("mark: %w", err)
		}
		at, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("mark %s: want nanoseconds since the epoch: %w", filepath.Base(path), err)
		}
		all = append(all, load.Mark{Name: strings.TrimPrefix(filepath.Base(path), markPrefix), Time: at})
	}
	return all, nil
}
