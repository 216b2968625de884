// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/load/journal"
)

// put writes a file into a new folder and gives the folder.
func put(t *testing.T, name string, parts ...[]byte) string {
	t.Helper()
	dir := t.TempDir()
	var content []byte
	for _, p := range parts {
		content = append(content, p...)
	}
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// line gives the line of a record.
func line(t *testing.T, r load.Record) []byte {
	t.Helper()
	b, err := r.Line()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBooksHoldEveryLifeOfAClientAndATornEndIsNoLoss(t *testing.T) {
	dir := put(t, "m-1.records", line(t, sent("a", 1, "")))
	second := append(line(t, sent("b", 2, "")), `{"id":"c`...)
	if err := os.WriteFile(filepath.Join(dir, "m-2.records"), second, 0o600); err != nil {
		t.Fatal(err)
	}
	runs, err := readRuns([]place{{Client: "m", Outside: true, Out: dir}})
	if err != nil {
		t.Fatal(err)
	}
	want := []load.Run{{Client: "m", Outside: true, Records: []load.Record{sent("a", 1, ""), sent("b", 2, "")}}}
	if diff := cmp.Diff(want, runs); diff != "" {
		t.Fatal(diff)
	}
}

func TestBooksRefuseToBeIncomplete(t *testing.T) {
	if _, err := readRuns([]place{{Client: "m", Out: t.TempDir()}}); err == nil {
		t.Error("a client without records was taken")
	}
	if _, err := readRuns([]place{{Client: "m", Out: put(t, "m.records", []byte("x\n"))}}); err == nil {
		t.Error("a broken file was taken")
	}
	if _, err := readLedgers([]string{t.TempDir()}); err == nil {
		t.Error("a cluster without ledgers was taken")
	}
}

func TestArrivalsPerClusterCountOnlyNews(t *testing.T) {
	arrived := load.Entry{Time: 1, Event: load.Arrived, ID: "a"}.Line()
	answered := load.Entry{Time: 2, Event: load.Answered, ID: "a"}.Line()
	dir := put(t, "p.ledger", load.Header(1, "p", "c2"), arrived, answered, arrived)
	tails := map[string]*journal.Tail{"c2": journal.NewTail(dir, "ledger")}
	for _, want := range []map[string]int{{"c2": 2}, {}} {
		got, err := arrivals(tails)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestActsAreMarkedForEveryClientAndStopAtTheFirstFailure(t *testing.T) {
	control := []string{t.TempDir(), t.TempDir()}
	var out strings.Builder
	s := &stage{places: []place{{Control: control[0]}, {Control: control[1]}}, tell: newNarrator(&out)}
	broken := errors.New("broken")
	var done []string
	do := func(name string, err error) act {
		return act{name: name, says: "Now " + name + ".", do: func(context.Context, *stage) error {
			done = append(done, name)
			return err
		}}
	}
	marks, err := s.play(t.Context(), []act{do("one", nil), do("two", broken), do("three", nil)})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "two") {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{"one", "two"}, done); diff != "" {
		t.Error(diff)
	}
	if len(marks) != 2 || marks[0].Name != "one" || marks[0].Time > marks[1].Time {
		t.Errorf("marks %v", marks)
	}
	for _, dir := range control {
		for _, name := range []string{"mark-one", "mark-two"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
	}
	if !strings.Contains(out.String(), "Now two.") || strings.Contains(out.String(), "Now three.") {
		t.Errorf("narration:\n%s", out.String())
	}
}
