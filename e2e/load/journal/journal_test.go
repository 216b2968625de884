// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-io/weir/e2e/load/journal"
)

var started = time.Unix(0, 42)

func TestAppendedLinesAreInTheFileBeforeItIsClosed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	f, err := journal.Create(dir, "echo-1", "ledger", started)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := map[string]bool{}
	var writers sync.WaitGroup
	for i := range 50 {
		line := "line " + strconv.Itoa(i)
		want[line+"\n"] = true
		writers.Go(func() {
			if err := f.Append([]byte(line + "\n")); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	content, err := os.ReadFile(filepath.Join(dir, "echo-1-42.ledger"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for line := range strings.Lines(string(content)) {
		got[line] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestCreateNeverWritesToAFileOfAnother(t *testing.T) {
	dir := t.TempDir()
	f, err := journal.Create(dir, "echo-1", "ledger", started)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Create(dir, "echo-1", "ledger", started); err == nil {
		t.Error("the file was opened again")
	}
	for _, name := range []string{"", "../x", "a\x00b"} {
		if _, err := journal.Create(dir, name, "ledger", started); err == nil {
			t.Errorf("name %q was taken", name)
		}
	}
	if err := f.Append([]byte("late\n")); err == nil {
		t.Error("a closed file took a line")
	}
}

func TestTailGivesEachWholeLineOnce(t *testing.T) {
	dir := t.TempDir()
	tail := journal.NewTail(dir, "ledger")
	a, b := filepath.Join(dir, "a.ledger"), filepath.Join(dir, "b.ledger")
	for _, step := range []struct {
		path, add string
		want      map[string][]byte
	}{
		{a, "one\n", map[string][]byte{a: []byte("one\n")}},
		{a, "", map[string][]byte{}},
		{a, "tw", map[string][]byte{}},
		{a, "o\nthr", map[string][]byte{a: []byte("two\n")}},
		{b, "other\n", map[string][]byte{b: []byte("other\n")}},
		{filepath.Join(dir, "b.other"), "no\n", map[string][]byte{}},
		{a, "ee\nfour\n", map[string][]byte{a: []byte("three\nfour\n")}},
	} {
		f, err := os.OpenFile(step.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(step.add); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := tail.Next()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Fatalf("after %q in %s:\n%s", step.add, step.path, diff)
		}
	}
}

func TestReplaceLeavesNothingBesideTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "live.json")
	for _, content := range []string{"old", "new"} {
		if err := journal.Replace(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != content {
			t.Fatalf("read %q, %v", got, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
}
