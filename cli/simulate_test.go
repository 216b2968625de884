// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/weir-io/weir/sched/simulate"
)

// simulated runs the verb and returns what it printed and its exit code.
func simulated(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := NewSimulate()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	var out, errs bytes.Buffer
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	if err != nil {
		fmt.Fprintln(&errs, "error:", err)
	}
	return out.String(), errs.String(), ExitCode(err)
}

// TestSimulateGolden holds what the verb answers, screens and documents, for the samples and for a fleet of its own.
func TestSimulateGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/simulate", func(t *testing.T, path string) {
		t.Helper()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			out, errs, code := simulated(t, "", strings.Fields(d.Input)...)
			if errs != "" && d.Cmd == "run" { // an answer is told without what was passed over
				out += "(standard error)\n" + errs
			}
			return fmt.Sprintf("%s(exit %d)\n", out, code)
		})
	})
}

func TestJSONIsOneDocumentOnStandardOutputAlone(t *testing.T) {
	for _, files := range []string{"../config/samples", "testdata/manifests/fleet.yaml"} {
		out, _, _ := simulated(t, "", "-f", files, "-o", "json")
		decoder := json.NewDecoder(strings.NewReader(out))
		decoder.DisallowUnknownFields()
		var answer simulate.Answer
		if err := decoder.Decode(&answer); err != nil || decoder.More() {
			t.Errorf("%s: %v", files, err)
		}
		for _, b := range answer.Bindings {
			sum := b.Unplaced
			for _, n := range b.Replicas {
				sum += n
			}
			if sum != b.Wanted {
				t.Errorf("%s: %s/%s: %d of %d", files, b.Namespace, b.Name, sum, b.Wanted)
			}
		}
	}
}

func TestAFileWithoutAnEndIsRefused(t *testing.T) {
	_, errs, code := simulated(t, "", "-f", "/dev/zero")
	if code != 2 || !strings.Contains(errs, "/dev/zero:1: has more than") {
		t.Errorf("exit %d: %.300s", code, errs)
	}
}

func TestWhoIsStoppedWaitsForNoInput(t *testing.T) {
	silent, writer := io.Pipe()
	defer func() { _ = writer.Close() }() // Ends the read that is left behind.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd := NewSimulate()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetIn(silent)
	cmd.SetArgs([]string{"-f", "-"})
	if err := cmd.ExecuteContext(ctx); !errors.Is(err, context.Canceled) || ExitCode(err) == ExitUsage {
		t.Fatalf("want an end for the signal, got %v", err)
	}
}

// The same objects give the same answer, whatever file they stand in and in whatever order they come.
func TestFilesMayBeSplitListedAndPiped(t *testing.T) {
	want, _, wantCode := simulated(t, "", "-f", "testdata/manifests/fleet.yaml", "-o", "json")
	text, err := os.ReadFile("testdata/manifests/fleet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	same := func(name, stdin string, args ...string) {
		t.Helper()
		if got, errs, code := simulated(t, stdin, append(args, "-o", "json")...); got != want || code != wantCode {
			t.Errorf("%s: exit %d\n%s\n%s", name, code, errs, got)
		}
	}
	same("piped", string(text), "-f", "-")

	documents := strings.Split(string(text), "---\n")
	dir := t.TempDir()
	list := "apiVersion: v1\nkind: List\nitems:\n"
	for i, d := range documents {
		// Backwards, so that no file comes before those it needs.
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.yaml", len(documents)-i)), []byte(d), 0o600); err != nil {
			t.Fatal(err)
		}
		list += "-\n"
		for line := range strings.SplitSeq(d, "\n") {
			list += "  " + line + "\n"
		}
	}
	same("a directory", "", "-f", dir)
	same("a list", list, "-f", "-")
}
