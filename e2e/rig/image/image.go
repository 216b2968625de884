// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar"
	indexType    = "application/vnd.oci.image.index.v1+json"
)

// Image is what to pack.
type Image struct {
	// Name is the full name with its tag, such as "weir.test/app:1".
	Name string
	// Entrypoint is the program with its first arguments.
	Entrypoint []string
	// User is "uid:gid"; empty means root.
	User string
	// Env is the environment, each as "NAME=value".
	Env []string
	// Dir is the working directory; empty means "/".
	Dir string
	// Files are the entries. Folders above a file need not be named.
	Files []File
}

// File is one entry of an image. Exactly one of Source, Data, Link and Folder says what it is; with none it is an empty file.
type File struct {
	// Path is absolute, inside the image.
	Path string
	// Mode holds the permission bits; zero means 0755 for folders and programs, 0644 for Data.
	Mode int64
	// Owner is the user and group number.
	Owner int
	// Source is a file of this machine whose content is taken; links are followed.
	Source string
	// Data is the content itself.
	Data []byte
	// Link is the target of a symbolic link.
	Link string
	// Folder makes the entry a directory.
	Folder bool
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    map[string]string `json:"platform,omitempty"`
}

// Write packs the image into the archive file. The archive appears whole or not at all.
func (im Image) Write(archive string) error {
	layer, err := os.CreateTemp(filepath.Dir(archive), ".layer-*")
	if err != nil {
		return fmt.Errorf("pack %s: %w", im.Name, err)
	}
	defer os.Remove(layer.Name())
	defer layer.Close()
	sum := sha256.New()
	if err := im.writeLayer(io.MultiWriter(layer, sum)); err != nil {
		return fmt.Errorf("pack %s: %w", im.Name, err)
	}
	size, err := layer.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("pack %s: %w", im.Name, err)
	}
	if _, err := layer.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("pack %s: %w", im.Name, err)
	}
	ld := descriptor{MediaType: layerType, Digest: "sha256:" + hex.EncodeToString(sum.Sum(nil)), Size: size}
	tmp := archive + ".tmp"
	defer os.Remove(tmp)
	if err := im.writeArchive(tmp, layer, ld); err != nil {
		return fmt.Errorf("pack %s: %w", im.Name, err)
	}
	return os.Rename(tmp, archive)
}

func (im Image) writeArchive(path string, layer io.Reader, ld descriptor) error {
	config, err := json.Marshal(im.config(ld.Digest))
	if err != nil {
		return err
	}
	cd := describe(configType, config)
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": cd, "layers": []descriptor{ld},
	})
	if err != nil {
		return err
	}
	md := describe(manifestType, manifest)
	_, tag, _ := strings.Cut(im.Name[strings.LastIndexByte(im.Name, '/')+1:], ":")
	md.Annotations = map[string]string{"io.containerd.image.name": im.Name, "org.opencontainers.image.ref.name": tag}
	md.Platform = map[string]string{"architecture": runtime.GOARCH, "os": "linux"}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": []descriptor{md}})
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	t := tar.NewWriter(f)
	for _, e := range []struct {
		name string
		data []byte
	}{
		{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", index},
		{blob(cd.Digest), config},
		{blob(md.Digest), manifest},
	} {
		if err := add(t, e.name, int64(len(e.data)), bytes.NewReader(e.data)); err != nil {
			return err
		}
	}
	if err := add(t, blob(ld.Digest), ld.Size, layer); err != nil {
		return err
	}
	if err := t.Close(); err != nil {
		return err
	}
	return f.Close()
}

func (im Image) config(diff string) map[string]any {
	dir := im.Dir
	if dir == "" {
		dir = "/"
	}
	run := map[string]any{"Entrypoint": im.Entrypoint, "WorkingDir": dir, "Env": im.Env}
	if im.User != "" {
		run["User"] = im.User
	}
	return map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "config": run,
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{diff}},
		"history": []map[string]string{{"created_by": "weir rig"}},
	}
}

// writeLayer writes the files in the order of their paths, each folder before what is in it.
func (im Image) writeLayer(w io.Writer) error {
	files := make(map[string]File)
	for _, f := range im.Files {
		files[filepath.Clean(f.Path)] = f
		for dir := filepath.Dir(f.Path); dir != "/" && dir != "."; dir = filepath.Dir(dir) {
			if _, ok := files[dir]; !ok {
				files[dir] = File{Path: dir, Folder: true}
			}
		}
	}
	paths := make([]string, 0, len(files))
	for p := range files {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	t := tar.NewWriter(w)
	for _, p := range paths {
		if err := writeFile(t, p, files[p]); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return t.Close()
}

func writeFile(t *tar.Writer, path string, f File) error {
	h := &tar.Header{Name: strings.TrimPrefix(path, "/"), Mode: f.Mode, Uid: f.Owner, Gid: f.Owner, Format: tar.FormatPAX}
	if h.Mode == 0 {
		h.Mode = 0o755
	}
	switch {
	case f.Folder:
		h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
		return t.WriteHeader(h)
	case f.Link != "":
		h.Typeflag, h.Linkname = tar.TypeSymlink, f.Link
		return t.WriteHeader(h)
	case f.Source == "":
		if f.Mode == 0 {
			h.Mode = 0o644
		}
		h.Typeflag, h.Size = tar.TypeReg, int64(len(f.Data))
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err := t.Write(f.Data)
		return err
	}
	in, err := os.Open(f.Source)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	h.Typeflag, h.Size = tar.TypeReg, info.Size()
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(t, in)
	return err
}

func describe(kind string, data []byte) descriptor {
	sum := sha256.Sum256(data)
	return descriptor{MediaType: kind, Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: int64(len(data))}
}

func blob(digest string) string { return "blobs/sha256/" + strings.TrimPrefix(digest, "sha256:") }

func add(t *tar.Writer, name string, size int64, r io.Reader) error {
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err := io.Copy(t, r)
	return err
}
