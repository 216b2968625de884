// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-io/weir/e2e/load"
)

// file is a file of a made-up proc file system.
func file(content string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(content)} }

func TestOnlyWorkersOfProxiesCount(t *testing.T) {
	got, err := readWaits(fstest.MapFS{
		"12/comm":              file("envoy\n"),
		"12/task/12/comm":      file("envoy\n"),
		"12/task/12/schedstat": file("5 99 1\n"),
		"12/task/13/comm":      file("wrk:worker_0\n"),
		"12/task/13/schedstat": file("5 7000 1\n"),
		"12/task/14/comm":      file("wrk:worker_1\n"),
		"12/task/15/comm":      file("wrk:worker_2\n"),
		"12/task/15/schedstat": file("no\n"),
		"20/comm":              file("app\n"),
		"20/task/20/comm":      file("wrk:worker_0\n"),
		"20/task/20/schedstat": file("5 99 1\n"),
		"self/comm":            file("envoy\n"),
		"uptime":               file("1 2\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(waits{"12/task/13": 7 * time.Microsecond}, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestAProxyThatWaitedMostOfASpanStarvesTheRun(t *testing.T) {
	for share, starved := range map[float64]int{0: 0, 0.5: 0, 0.51: 1, 3: 1} {
		var r Result
		r.contend(share)
		if r.ProxyWait != share || len(r.Starved) != starved {
			t.Errorf("share %v: %+v", share, r.Starved)
		}
	}
}

func TestTheWorstWaitIsThatOfAWorkerSeenAtBothEnds(t *testing.T) {
	before := waits{"a": time.Second, "b": 2 * time.Second, "gone": time.Second}
	now := waits{"a": 2 * time.Second, "b": 8 * time.Second, "new": time.Minute}
	if got := now.worst(before, 10*time.Second); got != 0.6 {
		t.Fatalf("share %v", got)
	}
	if got := (waits{}).worst(before, time.Second); got != 0 {
		t.Fatalf("share %v of nothing", got)
	}
}

func TestOnlySpansThatTouchCount(t *testing.T) {
	var c contention
	c.note(load.Span{From: 0, To: 10}, 0.9)
	c.note(load.Span{From: 10, To: 20}, 0.2)
	c.note(load.Span{From: 20, To: 30}, 0.4)
	for in, want := range map[load.Span]float64{{From: 11, To: 19}: 0.2, {From: 12, To: 25}: 0.4, {From: 0, To: 40}: 0.9, {From: 31, To: 40}: 0} {
		if got := c.worst(in); got != want {
			t.Errorf("worst of %v is %v, want %v", in, got, want)
		}
	}
}
