// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// File is an append-only file of lines. It is safe for concurrent use.
type File struct {
	mu   sync.Mutex
	file *os.File
}

// Create makes the file NAME-TIME.EXT in dir, which is made if it is missing.
// TIME is started as nanoseconds since the epoch. The name must be one that a
// pod may have; a file that is there already is never written to.
func Create(dir, name, ext string, started time.Time) (*File, error) {
	if name == "" || strings.ContainsAny(name, "/\x00") {
		return nil, fmt.Errorf("journal name %q: it must not be empty or hold a slash", name)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d.%s", name, started.UnixNano(), ext))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &File{file: f}, nil
}

// Append writes one line, line feed included, in a single write. When it
// returns nil the kernel has the line.
func (f *File) Append(line []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.file.Write(line); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Close closes the file. Lines appended later fail.
func (f *File) Close() error { return f.file.Close() }

// Replace puts content at path as a whole: a reader sees the old file or the
// new one, never a part.
func Replace(path string, content []byte) error {
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, content, 0o644); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, path)
}
