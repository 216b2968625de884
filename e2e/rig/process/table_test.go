// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-io/weir/e2e/rig/process"
)

func table(t *testing.T) process.Table {
	t.Helper()
	tb := process.Table{Dir: filepath.Join(t.TempDir(), "processes")}
	t.Cleanup(func() {
		all, err := tb.List("")
		if err != nil {
			t.Error(err)
		}
		for _, p := range all {
			if err := tb.End(context.Background(), p.Name, 0); err != nil { // The test's own context has ended here.
				t.Error(err)
			}
		}
	})
	return tb
}

func start(t *testing.T, tb process.Table, name string, args ...string) process.Process {
	t.Helper()
	p, err := tb.Start(process.Spec{Name: name, Args: args, Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(20 * time.Second)
	for !holds() {
		select {
		case <-limit:
			t.Fatalf("never: %s", what)
		case <-tick.C:
		}
	}
}

func TestAnotherTableOfTheSameFolderGoesOnFromTheRecord(t *testing.T) {
	tb := table(t)
	p := start(t, tb, "one", "sleep", "1000")
	other := process.Table{Dir: tb.Dir}
	found, err := other.Lookup("one")
	if err != nil {
		t.Fatal(err)
	}
	if found.PID != p.PID || found.Start != p.Start || !found.Running() {
		t.Fatalf("got %+v, want the running %+v", found, p)
	}
	if err := other.End(t.Context(), "one", 0); err != nil {
		t.Fatal(err)
	}
	if p.Running() {
		t.Error("it runs after its end")
	}
	if _, err := tb.Lookup("one"); !errors.Is(err, process.ErrUnknown) {
		t.Errorf("after the end: %v, want ErrUnknown", err)
	}
}

func TestANameRunsOnce(t *testing.T) {
	tb := table(t)
	start(t, tb, "one", "sleep", "1000")
	_, err := tb.Start(process.Spec{Name: "one", Args: []string{"sleep", "1000"}, Log: filepath.Join(t.TempDir(), "log")})
	if err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("second start: %v", err)
	}
}

func TestAProcessWithTheSameNumberButAnotherStartIsLeftAlone(t *testing.T) {
	tb := table(t)
	victim := start(t, tb, "victim", "sleep", "1000")
	forged := victim
	forged.Name, forged.Start = "forged", victim.Start+1
	data, err := json.Marshal(forged)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tb.Dir, "forged.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := tb.Signal("forged", syscall.SIGKILL); err == nil {
		t.Error("a signal went to a process that was not started under this name")
	}
	if err := tb.End(t.Context(), "forged", time.Second); err != nil {
		t.Error(err)
	}
	if !victim.Running() {
		t.Error("the process of that number was ended")
	}
}

func TestEndAsksFirstAndKillsWhoDoesNotListen(t *testing.T) {
	tb := table(t)
	log := filepath.Join(t.TempDir(), "log")
	p, err := tb.Start(process.Spec{Name: "deaf", Log: log, Args: []string{"sh", "-c", "trap 'echo asked' TERM; echo set; while :; do sleep 0.05; done"}})
	if err != nil {
		t.Fatal(err)
	}
	said := func(word string) func() bool {
		return func() bool {
			text, err := os.ReadFile(log)
			return err == nil && strings.Contains(string(text), word)
		}
	}
	eventually(t, "the trap is set", said("set"))
	if err := tb.End(t.Context(), "deaf", 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if p.Running() {
		t.Error("it runs on")
	}
	if !said("asked")() {
		t.Error("it was not asked before it was killed")
	}
}

func TestAFrozenProgramIsNotGoneAndCanBeEnded(t *testing.T) {
	tb := table(t)
	p := start(t, tb, "one", "sleep", "1000")
	if err := tb.Signal("one", syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is stopped", func() bool {
		all, err := process.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range all {
			if i.PID == p.PID {
				return i.State == 'T'
			}
		}
		return false
	})
	if !p.Running() {
		t.Error("a stopped program counts as gone")
	}
	if err := tb.End(t.Context(), "one", 5*time.Second); err != nil {
		t.Fatal(err)
	}
}

func TestListIsByPrefixAndInOrder(t *testing.T) {
	tb := table(t)
	for _, name := range []string{"c2-b", "c1-b", "c1-a"} {
		start(t, tb, name, "sleep", "1000")
	}
	all, err := tb.List("c1-")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Name != "c1-a" || all[1].Name != "c1-b" {
		t.Errorf("got %v", all)
	}
}

func TestDescendantsFollowsParentsAndLeavesRootsOut(t *testing.T) {
	all := []process.Info{{PID: 10, Parent: 1}, {PID: 11, Parent: 10}, {PID: 12, Parent: 11}, {PID: 20, Parent: 1}, {PID: 21, Parent: 20}}
	var got []int
	for _, i := range process.Descendants(all, map[int]bool{10: true}) {
		got = append(got, i.PID)
	}
	if len(got) != 2 || got[0] != 11 || got[1] != 12 {
		t.Errorf("got %v, want [11 12]", got)
	}
}

func TestASignalToWhatWasSeenMissesAnotherProcessOfThatNumber(t *testing.T) {
	tb := table(t)
	p := start(t, tb, "one", "sleep", "1000")
	seen := process.Info{PID: p.PID, Start: p.Start + 1}
	if err := seen.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !p.Running() || !seen.Gone() {
		t.Errorf("running %v, what was seen is gone %v; want true, true", p.Running(), seen.Gone())
	}
}
