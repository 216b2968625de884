// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// copyStore copies an image store so that the content of the images is shared: the files are the same files on disk and in
// memory, for all clusters. That is safe because a runtime never writes to the files of an unpacked image, it lays a
// writable layer over them; its databases, which it does write, are copied.
func copyStore(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return copyDir(target, info)
		case info.Mode()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder", path)
		case strings.HasSuffix(path, ".db"):
			return copyFile(path, target, info)
		}
		if err := os.Link(path, target); err != nil {
			return copyFile(path, target, info) // Another file system, or one without hard links.
		}
		return nil
	})
}

func copyDir(target string, info fs.FileInfo) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	return copyOwner(target, info)
}

func copyFile(from, target string, info fs.FileInfo) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return copyOwner(target, info)
}

// copyOwner sets owner and mode; the owner first, for a change of owner clears bits of the mode.
func copyOwner(target string, info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		if err := os.Chown(target, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	return os.Chmod(target, info.Mode())
}
