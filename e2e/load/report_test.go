// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-io/weir/e2e/load"
)

const (
	ms = int64(time.Millisecond)
	s  = int64(time.Second)
)

// answered is a request sent at a time and answered after some milliseconds.
func answered(id string, sent, took int64) load.Record {
	return load.Record{ID: id, Class: "h1/keepalive", Due: sent, Sent: sent, End: sent + took*ms, Status: 200, Pod: "p", Cluster: "c1"}
}

// failed is a request sent at a time that failed after some milliseconds.
func failed(id string, sent, took int64) load.Record {
	return load.Record{ID: id, Class: "h1/once", Due: sent, Sent: sent, End: sent + took*ms, Status: 503, Err: "status 503"}
}

func TestReportCutsTheRunAtItsMarks(t *testing.T) {
	slow := answered("slow", 12*s, 2000)
	slow.Class = "h2/slow"
	open := load.Record{ID: "open", Class: "h1/once", Due: 15 * s, Sent: 15 * s}
	records := []load.Record{answered("a", 1*s, 3), answered("b", 10*s, 5), failed("c", 11*s, 1), slow, open}
	marks := []load.Mark{{Name: "after", Time: 15 * s}, {Name: "drain", Time: 10 * s}}
	got := load.NewReport(records, marks, 0, 20*s)

	one := func(d time.Duration) load.Latency { return load.Latency{Count: 1, P50: d, P99: d, Max: d} }
	want := []load.Window{
		{Name: "start", From: 0, To: 10 * s, Counts: load.Counts{Sent: 1, OK: 1}, Latency: one(3 * time.Millisecond)},
		{Name: "drain", From: 10 * s, To: 15 * s, Counts: load.Counts{Sent: 3, OK: 2, Lost: 1}, Latency: one(5 * time.Millisecond)},
		{Name: "after", From: 15 * s, To: 20 * s, Counts: load.Counts{Sent: 1, Lost: 1}},
	}
	if diff := cmp.Diff(want, got.Windows); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(load.Counts{Sent: 5, OK: 3, Lost: 2}, got.Counts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"status 503": 1, "the client ended before the request did": 1}, got.Errors); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(load.Counts{Sent: 2, Lost: 2}, got.Classes["h1/once"]); diff != "" {
		t.Error(diff)
	}
}

func TestWindowsHoldEveryRequestOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var records []load.Record
		for i, at := range rapid.SliceOf(rapid.Int64Range(0, 50)).Draw(t, "sent") {
			records = append(records, answered(strconv.Itoa(i), at, 1))
		}
		var marks []load.Mark
		for _, at := range rapid.SliceOfN(rapid.Int64Range(0, 50), 0, 5).Draw(t, "marks") {
			marks = append(marks, load.Mark{Name: "m", Time: at})
		}
		want := make([]int, len(marks)+1)
		for _, r := range records {
			passed := 0
			for _, m := range marks {
				if m.Time <= r.Sent {
					passed++
				}
			}
			want[passed]++
		}
		got := make([]int, 0, len(want))
		for _, w := range load.Windows(records, marks, 0, 50) {
			got = append(got, w.Sent)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestQuantileIsTheSmallestValueThatEnoughDoNotExceed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var values []time.Duration
		for _, v := range rapid.SliceOfN(rapid.Int64Range(0, 20), 1, 300).Draw(t, "values") {
			values = append(values, time.Duration(v))
		}
		got := load.Summarize(slices.Clone(values))
		for _, c := range []struct {
			percent int
			got     time.Duration
		}{{50, got.P50}, {99, got.P99}} {
			atMost, below := 0, 0
			for _, v := range values {
				if v <= c.got {
					atMost++
				}
				if v < c.got {
					below++
				}
			}
			if 100*atMost < c.percent*len(values) || 100*below >= c.percent*len(values) {
				t.Fatalf("p%d of %v is %d", c.percent, values, c.got)
			}
		}
		if got.Max != slices.Max(values) || got.Count != len(values) {
			t.Fatalf("summary %+v of %v", got, values)
		}
	})
}

func TestARunIsStarvedWhenItFellBehindItsSchedule(t *testing.T) {
	late := func(n int, by time.Duration) []load.Record {
		records := make([]load.Record, 1000)
		for i := range records {
			records[i] = answered(strconv.Itoa(i), s, 1)
			if i < n {
				records[i].Due -= int64(by)
			}
		}
		return records
	}
	for name, c := range map[string]struct {
		records []load.Record
		starved bool
		share   float64
	}{
		"on time":                     {late(0, 0), false, 0},
		"nothing sent":                {nil, false, 0},
		"half a little late":          {late(500, 6*time.Millisecond), false, 0.5},
		"few late":                    {late(10, 900*time.Millisecond), false, 0.01},
		"more than one of 100 late":   {late(11, 251*time.Millisecond), true, 0.011},
		"one stall of over a second":  {late(1, 1001*time.Millisecond), true, 0.001},
		"one stall of just a second":  {late(1, time.Second), false, 0.001},
		"sent before it was due once": {late(1, -time.Second), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := load.LatenessOf(c.records)
			if got.Starved() != c.starved || got.Late != c.share {
				t.Fatalf("starved %t, late share %v: %+v", got.Starved(), got.Late, got)
			}
		})
	}
}

func TestBoundSaysNoMoreThanTheCountProves(t *testing.T) {
	for name, c := range map[string]struct {
		lost, n int
		want    string
	}{
		"none of many": {0, 12000, "with 95 % confidence fewer than 3/12000 = 0.00025 of all requests are lost"},
		"some":         {3, 1200, "0.0025 of all requests were lost"},
		"no requests":  {0, 0, "no requests were sent: nothing is proven"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := load.Bound(c.lost, c.n); got != c.want {
				t.Fatalf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := load.Verdict(0, 10000); got != "lost 0 of 10000 requests" {
		t.Fatalf("verdict %q", got)
	}
}
