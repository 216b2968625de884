// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDirKeepsTheIdentityForItsOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	dir := Dir(path)
	if got, err := dir.Load(t.Context()); err != nil || got != (Identity{}) {
		t.Fatalf("load of nothing: %v, %v", got, err)
	}
	for _, want := range []Identity{{Key: "k1", TokenID: "t1"}, {Key: "k2", Certificate: "c", CA: "ca", TokenID: "t2"}} {
		if err := dir.Save(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		got, err := dir.Load(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("identity (-want +got):\n%s (%v)", diff, err)
		}
	}
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) != 1 {
		t.Fatalf("directory holds %v (%v), want one file", entries, err)
	}
	for name, mode := range map[string]os.FileMode{path: 0o700, filepath.Join(path, entries[0].Name()): 0o600} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v (%v), want %v", filepath.Base(name), info.Mode().Perm(), err, mode)
		}
	}
}

func TestFailedSaveLeavesTheOldIdentity(t *testing.T) {
	path := t.TempDir()
	dir := Dir(path)
	want := Identity{Key: "k1"}
	if err := dir.Save(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	// A directory in the place of the file makes the rename fail.
	blocked := Dir(filepath.Join(path, "blocked"))
	if err := os.MkdirAll(filepath.Join(string(blocked), identityFile, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := blocked.Save(t.Context(), Identity{Key: "k2"}); err == nil {
		t.Error("a save that can not be done gave no error")
	}
	entries, err := os.ReadDir(string(blocked))
	if err != nil || len(entries) != 1 {
		t.Errorf("a failed save left %v (%v)", entries, err)
	}
	if got, err := dir.Load(t.Context()); err != nil || got != want {
		t.Errorf("identity is %v (%v), want %v", got, err, want)
	}
}

func TestBrokenIdentityFileSaysTheWayOut(t *testing.T) {
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, identityFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Dir(path).Load(t.Context()); err == nil || !strings.Contains(err.Error(), "remove the file and join again") {
		t.Errorf("load: %v, want the way out", err)
	}
}
