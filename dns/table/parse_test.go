// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package table_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/dns/table"
)

// TestAFileWithAnErrorIsRefusedWithLineAndField runs the scripts of testdata/parse. The one command, parse, reads its
// input as a file.
func TestAFileWithAnErrorIsRefusedWithLineAndField(t *testing.T) {
	datadriven.Walk(t, "testdata/parse", func(t *testing.T, path string) {
		t.Helper()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			loaded, err := table.Parse("t.yaml", []byte(d.Input))
			if err != nil {
				return err.Error()
			}
			var out bytes.Buffer
			if err := loaded.Print(&out, table.FormatText); err != nil {
				t.Fatal(err)
			}
			return strings.ReplaceAll(out.String(), "\n\n", "\n")
		})
	})
}

// TestTheExampleOfThePackageIsAFile reads what doc.go shows.
func TestTheExampleOfThePackageIsAFile(t *testing.T) {
	raw, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	example := string(raw)[strings.Index(string(raw), "//	serial"):]
	example, _, _ = strings.Cut(example, "//\n")
	loaded, err := table.Parse("doc.go", []byte(regexp.MustCompile(`(?m)^//\t`).ReplaceAllString(example, "")))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(loaded.Table.Targets()); n != 4 {
		t.Errorf("%d targets", n)
	}
}

func TestAFileMayBeJSONAndIsTheSameTable(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "names.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	one, err := table.Parse("names.yaml", raw)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSON(raw)
	if err != nil {
		t.Fatal(err)
	}
	written, err := json.MarshalIndent(one.Document, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string][]byte{"as JSON": asJSON, "as it is written": written} {
		other, err := table.Parse(form, text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(one.Table.Entries(), other.Table.Entries(), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Errorf("%s: %s", form, diff)
		}
	}
}

func TestATableIsPrintedAsJSONWithNothingLeftOut(t *testing.T) {
	loaded, err := table.Parse("t", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := loaded.Print(&out, table.FormatJSON); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(out.String()), ""); got != `{"serial":1,"zones":[],"names":[]}` {
		t.Error(got)
	}
	loaded, err = table.Load(filepath.Join("testdata", "names.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := loaded.Print(&out, table.FormatJSON); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"origin": "global.example.com"`, `"state": "Synced"`, `"cluster": "c2"`, `"weight": 1`, `"192.0.2.2"`, `"ttl": "10s"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	if err := loaded.Print(&out, "xml"); err == nil || !strings.Contains(err.Error(), `no format "xml"`) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsNoRegularFileIsRefusedAtOnce(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, t.TempDir(), os.DevNull} {
		if _, err := table.Load(path); err == nil || !strings.Contains(err.Error(), "no regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAnErrorIsShortHoweverLongTheValueIsThatItTellsOf(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, text := range []string{"serial: " + long, "clusterSet: {services: [{namespace: a, name: " + long + "}]}", "? " + long + "\n: 1"} {
		if _, err := table.Parse("t.yaml", []byte(text)); err == nil || len(err.Error()) > 4096 || !strings.HasPrefix(err.Error(), "t.yaml:1: ") {
			t.Errorf("%.20s: an error of %d bytes", text, len(fmt.Sprint(err)))
		}
	}
}

func TestAFileIsBounded(t *testing.T) {
	_, err := table.Parse("t", bytes.Repeat([]byte("#"), 16<<20+1))
	if err == nil || !strings.Contains(err.Error(), "more than 16 MiB") {
		t.Errorf("got %v", err)
	}
	var many strings.Builder
	many.WriteString("clusterSet:\n  services:\n")
	for i := range 30 {
		fmt.Fprintf(&many, "  - {namespace: demo, name: S%d}\n", i)
	}
	_, err = table.Parse("t", []byte(many.String()))
	if err == nil || len(strings.Split(err.Error(), "\n")) != 20 {
		t.Errorf("not the first 20 errors:\n%v", err)
	}
	if _, err := table.Load(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "read the table: stat") {
		t.Errorf("got %v", err)
	}
}

// FuzzNoFileMakesTheParserFall wants of each file a table or an error that names it, and of each table that it can be
// printed.
func FuzzNoFileMakesTheParserFall(f *testing.F) {
	paths, err := filepath.Glob("testdata/parse/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range append(paths, "testdata/names.yaml") {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for part := range strings.SplitSeq(string(raw), "----") {
			f.Add([]byte(part))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		loaded, err := table.Parse("f.yaml", raw)
		if err != nil {
			if loaded.Table != nil || !strings.Contains(err.Error(), "f.yaml") {
				t.Errorf("%v beside %v", err, loaded.Table)
			}
			return
		}
		var out bytes.Buffer
		if err := loaded.Print(&out, table.FormatJSON); err != nil {
			t.Error(err)
		}
		written, err := json.Marshal(loaded.Document)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := table.Parse("f.yaml", written); err != nil {
			t.Errorf("what was read is not taken when written: %v", err)
		}
	})
}
