// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Tail reads what is added to the files of a directory while others write. It
// is not safe for concurrent use.
type Tail struct {
	pattern string
	read    map[string]int64
}

// NewTail follows all files in dir, those made later too, whose extension is
// ext.
func NewTail(dir, ext string) *Tail {
	return &Tail{pattern: filepath.Join(dir, "*."+ext), read: map[string]int64{}}
}

// Next gives, for each file with news, the whole lines added since the last
// call. A line that is still being written waits for the next call.
func (t *Tail) Next() (map[string][]byte, error) {
	paths, err := filepath.Glob(t.pattern)
	if err != nil {
		return nil, fmt.Errorf("journal pattern %q: %w", t.pattern, err)
	}
	news := map[string][]byte{}
	for _, path := range paths {
		added, err := t.added(path)
		if err != nil {
			return nil, err
		}
		if len(added) > 0 {
			news[path] = added
		}
	}
	return news, nil
}

// added reads the whole lines of one file past those already given.
func (t *Tail) added(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.NewSectionReader(f, t.read[path], 1<<62))
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	content = content[:bytes.LastIndexByte(content, '\n')+1]
	t.read[path] += int64(len(content))
	return content, nil
}
