// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weir-io/weir/e2e/load"
)

func TestAnAccountNamesEachLostRequestAndTheTimeItWasSent(t *testing.T) {
	sent := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC).UnixNano()
	a := load.Account{
		Sent: 10, Lost: 2, Duplicated: 1, Repeats: []string{"p7"},
		Failures: []load.Failure{
			{Client: "c1-a", Record: load.Record{ID: "x1", Class: "slow", Sent: sent, End: sent + int64(time.Second), Err: "EOF"}, Upstream: "10.0.0.1:8080"},
			{Client: "c3-b", Record: load.Record{ID: "x2", Class: "post", Sent: sent, Status: 503, Err: "status 503"}},
		},
	}
	want := strings.Join([]string{
		"lost 2 of 10 requests, 1 POSTs executed twice",
		"  c1-a slow x1 sent 03:04:05.006, after 1s: EOF (status 0, first upstream 10.0.0.1:8080)",
		"  c3-b post x2 sent 03:04:05.006, no end: status 503 (status 503, first upstream unknown)",
		"  p7 was executed twice",
	}, "\n")
	if got := a.Complaint(5); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := a.Complaint(1); strings.Contains(got, "x2") || !strings.Contains(got, "x1") {
		t.Errorf("one of each was asked for, got:\n%s", got)
	}
}

func TestAnAccountWithoutLossHasNoComplaint(t *testing.T) {
	if got := (load.Account{Sent: 10, OK: 9, InFlight: 1}).Complaint(5); got != "" {
		t.Errorf("got %q", got)
	}
}
