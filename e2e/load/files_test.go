// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-io/weir/e2e/load"
)

func TestLedgerGivesBackAnyIDItWasGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := load.Header(7, "echo-1", "c2")
		want := load.Ledger{Pod: "echo-1", Cluster: "c2"}
		for range rapid.IntRange(1, 5).Draw(t, "entries") {
			e := load.Entry{
				Time:   rapid.Int64().Draw(t, "time"),
				Event:  rapid.SampledFrom([]load.Event{load.Arrived, load.Executed, load.Answered, load.Abandoned}).Draw(t, "event"),
				Method: "GET", Path: "fast",
				ID: string(rapid.SliceOf(rapid.Byte()).Draw(t, "id")),
			}
			want.Entries = append(want.Entries, e)
			file = append(file, e.Line()...)
		}
		got, err := load.ParseLedger(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestLedgerCutAnywhereKeepsEveryWholeLine(t *testing.T) {
	line := load.Entry{Time: 9, Event: load.Executed, Method: "POST", Path: "once", ID: "x\n"}.Line()
	head := load.Header(7, "echo-1", "c2")
	file := append(append([]byte{}, head...), line...)
	for cut := range file {
		got, err := load.ParseLedger(file[:cut])
		whole := cut == 0 || cut == len(head)
		if whole != (err == nil) || (err != nil && !errors.Is(err, load.ErrTorn)) {
			t.Fatalf("cut at %d: error %v", cut, err)
		}
		if len(got.Entries) != 0 || (cut >= len(head)) != (got.Pod == "echo-1") {
			t.Fatalf("cut at %d: got %+v", cut, got)
		}
	}
}

func TestLedgerRefusesWhatIsNoLedger(t *testing.T) {
	head := string(load.Header(1, "p", "c"))
	for name, file := range map[string]string{
		"no header":     "1\tarrived\tGET\tfast\t\"x\"\n",
		"few fields":    head + "1\tarrived\n",
		"no time":       head + "x\tarrived\tGET\tfast\t\"x\"\n",
		"unknown event": head + "1\tvanished\tGET\tfast\t\"x\"\n",
		"bare id":       head + "1\tarrived\tGET\tfast\tx\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := load.ParseLedger([]byte(file)); err == nil || errors.Is(err, load.ErrTorn) {
				t.Fatalf("error is %v", err)
			}
		})
	}
}

func TestRecordsKeepTheLastWordOnEachRequest(t *testing.T) {
	file := `{"id":"a","class":"h1/slow","due":1,"sent":2}
{"id":"b","class":"h1/once","due":3,"sent":4}
{"id":"a","class":"h1/slow","due":1,"sent":2,"end":9,"status":200,"pod":"p","cluster":"c1"}
`
	want := []load.Record{
		{ID: "a", Class: "h1/slow", Due: 1, Sent: 2, End: 9, Status: 200, Pod: "p", Cluster: "c1"},
		{ID: "b", Class: "h1/once", Due: 3, Sent: 4},
	}
	got, err := load.ParseRecords([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	torn, err := load.ParseRecords([]byte(file + `{"id":"c","cl`))
	if !errors.Is(err, load.ErrTorn) || len(torn) != 2 {
		t.Fatalf("torn file: %d records, error %v", len(torn), err)
	}
	for name, bad := range map[string]string{"not JSON": "x\n", "no id": `{"sent":1}` + "\n", "not sent": `{"id":"a"}` + "\n"} {
		if _, err := load.ParseRecords([]byte(bad)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestAccessLogNamesTheFirstUpstreamOnly(t *testing.T) {
	log := `2026-01-02T03:04:05.006Z	info	xdsproxy	connected
{"start":"2026-01-02T03:04:05.006Z","id":"a","attempted":"10.2.0.7:8080,10.1.0.4:8080","attempts":2,"code":200,"flags":"-"}
{"start":"2026-01-02T03:04:06.000Z","id":"b","attempted":"10.1.0.4:8080","attempts":1,"code":503,"flags":"UC"}
{"start":"2026-01-02T03:04:06.000Z","id":"v6","attempted":"[fd00::7]:8080","attempts":1,"code":503,"flags":"UC"}
{"start":"2026-01-02T03:04:06.000Z","id":"none","attempted":null,"attempts":0,"code":503,"flags":"UH"}
{"start":"2026-01-02T03:04:06.000Z","id":null,"attempted":"10.1.0.4:8080"}
{"start":"2026-01-02T03:04:06.0`
	base := int64(1767323045006000000)
	want := []load.Sight{
		{ID: "a", Upstream: "10.2.0.7", Time: base},
		{ID: "b", Upstream: "10.1.0.4", Time: base + 994e6},
		{ID: "v6", Upstream: "fd00::7", Time: base + 994e6},
	}
	if diff := cmp.Diff(want, load.ParseAccessLog([]byte(log))); diff != "" {
		t.Fatal(diff)
	}
}
