// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-io/weir/e2e/rig/image"
)

// read returns a tar's regular files by name, and the names of all entries in order.
func read(t *testing.T, r io.Reader) (map[string][]byte, []string) {
	t.Helper()
	files := make(map[string][]byte)
	var names []string
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files, names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = data
	}
}

func sample(t *testing.T) image.Image {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("\x7fELF"), 0o700); err != nil {
		t.Fatal(err)
	}
	return image.Image{
		Name: "weir.test/some/thing:7", Entrypoint: []string{"/usr/bin/thing"}, User: "1:1", Env: []string{"A=b"},
		Files: []image.File{
			{Path: "/usr/bin/thing", Source: program},
			{Path: "/tmp", Folder: true, Mode: 0o1777},
			{Path: "/etc/passwd", Data: []byte("root")},
			{Path: "/usr/bin/alias", Link: "thing"},
		},
	}
}

func write(t *testing.T, im image.Image) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := im.Write(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTheSameFilesGiveTheSameBytes(t *testing.T) {
	im := sample(t)
	if !bytes.Equal(write(t, im), write(t, im)) {
		t.Error("two archives of one image differ")
	}
}

func TestEachBlobIsNamedByItsDigestAndTheIndexLeadsToAll(t *testing.T) {
	files, _ := read(t, bytes.NewReader(write(t, sample(t))))
	for name, data := range files {
		want, ok := strings.CutPrefix(name, "blobs/sha256/")
		if !ok {
			continue
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s holds something else", name)
		}
	}
	var index struct {
		Manifests []struct {
			Digest      string
			Annotations map[string]string
		}
	}
	parse(t, files["index.json"], &index)
	if got := index.Manifests[0].Annotations["io.containerd.image.name"]; got != "weir.test/some/thing:7" {
		t.Errorf("name %q", got)
	}
	if got := index.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; got != "7" {
		t.Errorf("tag %q", got)
	}
	var manifest struct {
		Config struct{ Digest string }
		Layers []struct{ Digest string }
	}
	parse(t, files[blob(index.Manifests[0].Digest)], &manifest)
	var config struct {
		Config struct {
			Entrypoint []string
			User       string
		}
		Rootfs struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	parse(t, files[blob(manifest.Config.Digest)], &config)
	if config.Config.User != "1:1" || config.Config.Entrypoint[0] != "/usr/bin/thing" {
		t.Errorf("config %+v", config)
	}
	if config.Rootfs.DiffIDs[0] != manifest.Layers[0].Digest {
		t.Error("an uncompressed layer's own digest is not its content's")
	}
	layer, names := read(t, bytes.NewReader(files[blob(manifest.Layers[0].Digest)]))
	want := []string{"etc/", "etc/passwd", "tmp/", "usr/", "usr/bin/", "usr/bin/alias", "usr/bin/thing"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("entries of the layer (-want +got):\n%s", diff)
	}
	if string(layer["usr/bin/thing"]) != "\x7fELF" {
		t.Error("the program is not in the layer")
	}
}

func TestAFailedWriteLeavesNothing(t *testing.T) {
	im := sample(t)
	im.Files = append(im.Files, image.File{Path: "/gone", Source: "/does/not/exist"})
	dir := t.TempDir()
	if err := im.Write(filepath.Join(dir, "image.tar")); err == nil {
		t.Fatal("a missing file was packed")
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func parse(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func blob(digest string) string { return "blobs/sha256/" + strings.TrimPrefix(digest, "sha256:") }
